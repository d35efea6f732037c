// Deep nests, which ask for more barrier registers than there are. The number in a name is that of the nested statements.
// The step at each end of a level keeps two of them from becoming one.

// Opening and closing of level `i`: `if` by a value that is loaded there, or a loop whose trip count is.
#define IF(i)                                                                                                          \
    if (in[(i)*n + (b & ((i) | 3))] & (1u << ((i) & 7))) {                                                                \
        STEP(a, 2 * (i) + 1);
#define FI(i)                                                                                                          \
        STEP(b, 2 * (i) + 2);                                                                                          \
    }
#define FOR(i)                                                                                                         \
    for (u32 i_##i = 0; i_##i < (a & (i + 7u)); i_##i++) {                                                             \
        STEP(a, 2 * i + 1);
#define ROF(i) FI(i)
#define INNERMOST                                                                                                      \
    WORK(a, 0);                                                                                                        \
    out[t + n] = a;

#define IF_4(i) IF(i) IF(i + 1) IF(i + 2) IF(i + 3)
#define FI_4(i) FI(i + 3) FI(i + 2) FI(i + 1) FI(i)
#define IF_16 IF_4(0) IF_4(4) IF_4(8) IF_4(12)
#define FI_16 FI_4(12) FI_4(8) FI_4(4) FI_4(0)

KERNEL(deep_if_04) {
    LOAD IF_4(0) INNERMOST FI_4(0) STORE
}
KERNEL(deep_if_08) {
    LOAD IF_4(0) IF_4(4) INNERMOST FI_4(4) FI_4(0) STORE
}
KERNEL(deep_if_12) {
    LOAD IF_4(0) IF_4(4) IF_4(8) INNERMOST FI_4(8) FI_4(4) FI_4(0) STORE
}
KERNEL(deep_if_16) {
    LOAD IF_16 INNERMOST FI_16 STORE
}
KERNEL(deep_if_18) {
    LOAD IF_16 IF(16) IF(17) INNERMOST FI(17) FI(16) FI_16 STORE
}
KERNEL(deep_if_20) {
    LOAD IF_16 IF_4(16) INNERMOST FI_4(16) FI_16 STORE
}
KERNEL(deep_if_24) {
    LOAD IF_16 IF_4(16) IF_4(20) INNERMOST FI_4(20) FI_4(16) FI_16 STORE
}

#define FOR_4 FOR(0) FOR(1) FOR(2) FOR(3)
#define ROF_4 ROF(3) ROF(2) ROF(1) ROF(0)
#define FOR_8 FOR_4 FOR(4) FOR(5) FOR(6) FOR(7)
#define ROF_8 ROF(7) ROF(6) ROF(5) ROF(4) ROF_4
#define FOR_12 FOR_8 FOR(8) FOR(9) FOR(10) FOR(11)
#define ROF_12 ROF(11) ROF(10) ROF(9) ROF(8) ROF_8
#define FOR_16 FOR_12 FOR(12) FOR(13) FOR(14) FOR(15)
#define ROF_16 ROF(15) ROF(14) ROF(13) ROF(12) ROF_12

KERNEL(deep_loop_04) {
    LOAD FOR_4 INNERMOST ROF_4 STORE
}
KERNEL(deep_loop_08) {
    LOAD FOR_8 INNERMOST ROF_8 STORE
}
KERNEL(deep_loop_12) {
    LOAD FOR_12 INNERMOST ROF_12 STORE
}
KERNEL(deep_loop_16) {
    LOAD FOR_16 INNERMOST ROF_16 STORE
}
KERNEL(deep_loop_18) {
    LOAD FOR_16 FOR(16) FOR(17) INNERMOST ROF(17) ROF(16) ROF_16 STORE
}

// A function with a nest of its own is called where barriers are in use.
__device__ __noinline__ u32 nested_leaf(u32 x) {
    if (x & 1) {
        WORK(x, 1);
        if (x & 2) {
            WORK(x, 2);
            if (x & 4) {
                WORK(x, 3);
            }
            WORK(x, 4);
        }
        WORK(x, 5);
    }
    return x;
}

KERNEL(deep_call_03) {
    LOAD
    if (a & 1) {
        WORK(a, 1);
        if (b & 1) {
            b = nested_leaf(b);
            WORK(a, 2);
            if (a & 2) {
                a = nested_leaf(a ^ b);
                WORK(b, 3);
            }
            WORK(a, 4);
        }
        WORK(b, 5);
    }
    STORE
}
