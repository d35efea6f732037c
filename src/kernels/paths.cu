// 32 paths of equal work, shared by the kernels that send a warp through them. Each path is a loop over a chain of
// GPUCHAR_BODY instructions in which every instruction needs the result of the one before. Immediates differ from path
// to path and from place to place, so that no compiler merges paths or folds the chain. The chain is one assembler text
// per path: it compiles in a tenth of the time that as many statements need.
//
// GPUCHAR_KIND: 1 fused multiply-add, 2 integer multiply-add, 3 dependent loads, 4 reciprocal square root.
// GPUCHAR_BODY: 64, 128, 256 or 512. Without GPUCHAR_KIND only the chain is of use: a kernel defines its own link.

// GPUCHAR_LINK(path, row, place, byte): one instruction of the chain; the arguments are hexadecimal digits as text.
#if GPUCHAR_KIND == 1
typedef u32 Value;
#define GPUCHAR_LINK(path, row, place, byte) "fma.rn.f32 x, x, a, 0f3e" path row place "1;\n\t"
#define GPUCHAR_WALK(path) "mov.b32 x, %0;\n\tmov.b32 a, %2;\n\t" GPUCHAR_CHAIN(path) "mov.b32 %0, x;\n\t"
#define GPUCHAR_DECLARE ".reg .f32 x, a;\n\t"
#define GPUCHAR_AWAIT "xor.b32 %1, %1, %0;\n\t"
#elif GPUCHAR_KIND == 2
typedef u32 Value;
#define GPUCHAR_LINK(path, row, place, byte) "mad.lo.u32 %0, %0, %2, 0x1" path row place "1;\n\t"
#define GPUCHAR_WALK(path) GPUCHAR_CHAIN(path)
#define GPUCHAR_DECLARE
#define GPUCHAR_AWAIT "xor.b32 %1, %1, %0;\n\t"
#elif GPUCHAR_KIND == 3
typedef u64 Value;
// Each path has a 128-byte line of its own, so that what one path caches does not help the next. No .ca: that makes a
// strong load, for which loops on sm_75 to sm_89 get a YIELD (paths would interleave) and the closing __syncwarp a call.
#define GPUCHAR_LINK(path, row, place, byte) "ld.global.u64 %0, [%0+0x" path byte "];\n\t"
#define GPUCHAR_WALK(path) GPUCHAR_CHAIN(path)
#define GPUCHAR_DECLARE ".reg .b32 low, high;\n\t"
#define GPUCHAR_AWAIT "mov.b64 {low, high}, %0;\n\txor.b32 %1, %1, low;\n\t"
#elif GPUCHAR_KIND == 4
typedef u32 Value;
// The function unit takes no immediate: one addition per iteration, with a constant of its own, keeps the paths apart.
#define GPUCHAR_LINK(path, row, place, byte) "rsqrt.approx.ftz.f32 x, x;\n\t"
#define GPUCHAR_WALK(path)                                                                                             \
    "mov.b32 x, %0;\n\tadd.ftz.f32 x, x, 0f3f" path "0001;\n\t" GPUCHAR_CHAIN(path) "mov.b32 %0, x;\n\t"
#define GPUCHAR_DECLARE ".reg .f32 x;\n\t"
#define GPUCHAR_AWAIT "xor.b32 %1, %1, %0;\n\t"
#endif

#define GPUCHAR_ROW(path, row)                                                                                         \
    GPUCHAR_LINK(path, row, "0", "00") GPUCHAR_LINK(path, row, "1", "08")                                              \
    GPUCHAR_LINK(path, row, "2", "10") GPUCHAR_LINK(path, row, "3", "18")                                              \
    GPUCHAR_LINK(path, row, "4", "20") GPUCHAR_LINK(path, row, "5", "28")                                              \
    GPUCHAR_LINK(path, row, "6", "30") GPUCHAR_LINK(path, row, "7", "38")                                              \
    GPUCHAR_LINK(path, row, "8", "40") GPUCHAR_LINK(path, row, "9", "48")                                              \
    GPUCHAR_LINK(path, row, "a", "50") GPUCHAR_LINK(path, row, "b", "58")                                              \
    GPUCHAR_LINK(path, row, "c", "60") GPUCHAR_LINK(path, row, "d", "68")                                              \
    GPUCHAR_LINK(path, row, "e", "70") GPUCHAR_LINK(path, row, "f", "78")
#define GPUCHAR_CHAIN_64(path, high)                                                                                   \
    GPUCHAR_ROW(path, high "0") GPUCHAR_ROW(path, high "1") GPUCHAR_ROW(path, high "2") GPUCHAR_ROW(path, high "3")
#define GPUCHAR_CHAIN_128(path, high)                                                                                  \
    GPUCHAR_CHAIN_64(path, high)                                                                                       \
    GPUCHAR_ROW(path, high "4") GPUCHAR_ROW(path, high "5") GPUCHAR_ROW(path, high "6") GPUCHAR_ROW(path, high "7")
#define GPUCHAR_CHAIN_256(path, high)                                                                                  \
    GPUCHAR_CHAIN_128(path, high)                                                                                      \
    GPUCHAR_ROW(path, high "8") GPUCHAR_ROW(path, high "9") GPUCHAR_ROW(path, high "a") GPUCHAR_ROW(path, high "b")    \
    GPUCHAR_ROW(path, high "c") GPUCHAR_ROW(path, high "d") GPUCHAR_ROW(path, high "e") GPUCHAR_ROW(path, high "f")
#if GPUCHAR_BODY == 64
#define GPUCHAR_CHAIN(path) GPUCHAR_CHAIN_64(path, "0")
#elif GPUCHAR_BODY == 128
#define GPUCHAR_CHAIN(path) GPUCHAR_CHAIN_128(path, "0")
#elif GPUCHAR_BODY == 256
#define GPUCHAR_CHAIN(path) GPUCHAR_CHAIN_256(path, "0")
#elif GPUCHAR_BODY == 512
#define GPUCHAR_CHAIN(path) GPUCHAR_CHAIN_256(path, "0") GPUCHAR_CHAIN_256(path, "1")
#endif

#if GPUCHAR_KIND == 3
#define GPUCHAR_INOUT "+l"
#else
#define GPUCHAR_INOUT "+r"
#endif

// The loop stands in the text too: compilers peel the first iteration off a loop of the language. A path ends when its
// result is there, not when its last instruction was issued: the counter, 0 by then, takes it up.
#define GPUCHAR_PATH(digits)                                                                                           \
    asm volatile("{\n\t.reg .pred more;\n\t" GPUCHAR_DECLARE "again:\n\t" GPUCHAR_WALK(digits)                           \
                 "add.u32 %1, %1, -1;\n\tsetp.ne.u32 more, %1, 0;\n\t@more bra again;\n\t" GPUCHAR_AWAIT "}"            \
                 : GPUCHAR_INOUT(x), "+r"(left)                                                                        \
                 : "r"(operand)                                                                                        \
                 : "memory");

// The dispatch is a balanced tree: 31 two-way decisions for 32 paths, of which a k-way map makes k - 1 diverge.
#define GPUCHAR_SPLIT(bit, one, zero)                                                                                  \
    if (path & (bit)) {                                                                                                \
        one                                                                                                            \
    } else {                                                                                                           \
        zero                                                                                                           \
    }
#define GPUCHAR_PATHS_2(a, b) GPUCHAR_SPLIT(1, GPUCHAR_PATH(b), GPUCHAR_PATH(a))
#define GPUCHAR_PATHS_4(a, b, c, d) GPUCHAR_SPLIT(2, GPUCHAR_PATHS_2(c, d), GPUCHAR_PATHS_2(a, b))
#define GPUCHAR_PATHS_8(high, a, b, c, d, e, f, g, h)                                                                  \
    GPUCHAR_SPLIT(4, GPUCHAR_PATHS_4(high e, high f, high g, high h), GPUCHAR_PATHS_4(high a, high b, high c, high d))
#define GPUCHAR_PATHS_16(high)                                                                                         \
    GPUCHAR_SPLIT(8, GPUCHAR_PATHS_8(high, "8", "9", "a", "b", "c", "d", "e", "f"),                                    \
                  GPUCHAR_PATHS_8(high, "0", "1", "2", "3", "4", "5", "6", "7"))
// Takes the thread through path `path`: x is the chain's value, `left` the turns (0 afterwards, mixed with the result),
// `operand` the multiplier.
#define GPUCHAR_TAKE_PATH() GPUCHAR_SPLIT(16, GPUCHAR_PATHS_16("1"), GPUCHAR_PATHS_16("0"))
