// Loops with early exits, short-circuit evaluation, irreducible control flow.

// ---- loops
KERNEL(c18_trip_count) {
    LOAD
    for (u32 i = 0; i < a % 97; i++)
        WORK(b, 1);
    STORE
}

KERNEL(c19_break) {
    LOAD
    for (u32 i = 0; i < n; i++) {
        WORK(a, 1);
        if ((a & 63) == 7) break;
        WORK(b, 2);
    }
    STORE
}

KERNEL(c20_continue) {
    LOAD
    for (u32 i = 0; i < n; i++) {
        WORK(a, 1);
        if (a & 1) continue;
        WORK(b, 2);
        out[t + i] = b;
    }
    STORE
}

KERNEL(c21_break_and_continue) {
    LOAD
    for (u32 i = 0; i < n; i++) {
        WORK(a, 1);
        if (a & 1) continue;
        WORK(b, 2);
        if ((b & 31) == 3) break;
        WORK(a, 3);
    }
    STORE
}

KERNEL(c22_return_in_loop) {
    LOAD
    for (u32 i = 0; i < n; i++) {
        WORK(a, 1);
        if ((a & 63) == 7) {
            out[t] = i;
            return;
        }
        WORK(b, 2);
    }
    STORE
}

KERNEL(c23_three_exits) {
    LOAD
    for (u32 i = 0; i < n; i++) {
        WORK(a, 1);
        if ((a & 63) == 7) {
            WORK(b, 2);
            break;
        }
        WORK(b, 3);
        if ((b & 63) == 9) {
            WORK(a, 4);
            break;
        }
        WORK(a, 5);
        if (((a ^ b) & 127) == 1) {
            WORK(b, 6);
            break;
        }
    }
    STORE
}

KERNEL(c24_nested_loops) {
    LOAD
    for (u32 i = 0; i < (a & 15); i++) {
        WORK(b, 1);
        for (u32 j = 0; j < (b & 15); j++)
            WORK(a, 2);
    }
    STORE
}

KERNEL(c25_out_of_both_loops) {
    LOAD
    for (u32 i = 0; i < n; i++) {
        WORK(b, 1);
        for (u32 j = 0; j < (b & 15); j++) {
            WORK(a, 2);
            if ((a & 255) == 1) goto out;
        }
        WORK(b, 3);
    }
out:
    WORK(a, 4);
    STORE
}

KERNEL(c26_do_while) {
    LOAD
    do {
        WORK(a, 1);
        if (b & 1) {
            WORK(b, 2);
        }
        b = b * 3 + 1;
    } while (a & 7);
    STORE
}

KERNEL(c27_unrolled_break) {
    LOAD
#pragma unroll 4
    for (u32 i = 0; i < 16; i++) {
        a = a * 3 + in[t + i];
        if ((a & 63) == 7) break;
        b ^= in[t + n + a % 17];
    }
    STORE
}

// ---- short circuit: each clause loads, so that it cannot be evaluated ahead
KERNEL(c28_and) {
    LOAD
    if (in[t + 2 * n] > a && in[a & 255] > b && in[b & 255] > 3) {
        WORK(a, 1);
    } else {
        WORK(b, 2);
    }
    STORE
}

KERNEL(c29_or) {
    LOAD
    if (in[t + 2 * n] > a || in[a & 255] > b || in[b & 255] > 3) {
        WORK(a, 1);
    } else {
        WORK(b, 2);
    }
    STORE
}

KERNEL(c30_and_or) {
    LOAD
    if ((in[a & 255] > b && in[b & 255] > 3) || (in[(a ^ b) & 255] < 9 && in[(a + b) & 255] != 1)) {
        WORK(a, 1);
    }
    STORE
}

KERNEL(c31_or_in_loop) {
    LOAD
    for (u32 i = 0; i < n && (in[a & 255] > b || in[b & 255] < a); i++) {
        WORK(a, 1);
        WORK(b, 2);
    }
    STORE
}

// ---- irreducible: loops that are entered in more than one place
KERNEL(c32_two_entries) {
    LOAD
    if (a & 1) goto second;
first:
    WORK(a, 1);
    if ((a & 63) == 5) goto end;
second:
    WORK(b, 2);
    if ((b & 63) == 9) goto end;
    goto first;
end:
    STORE
}

KERNEL(c33_three_states) {
    LOAD
    if (a & 2) goto second;
    if (a & 4) goto third;
first:
    WORK(a, 1);
    if (a & 8) goto third;
second:
    WORK(b, 2);
    if ((b & 127) == 1) goto end;
    if (b & 1) goto first;
third:
    WORK(a, 3);
    if ((a & 127) == 3) goto end;
    if (a & 1) goto second;
    goto first;
end:
    STORE
}

KERNEL(c34_into_the_loop) {
    LOAD
    const u32 count = (b & 63) + 1;
    u32 rounds = (count + 3) / 4;
    switch (count & 3) {
        do {
        case 0:
            WORK(a, 1);
        case 3:
            WORK(a, 2);
        case 2:
            WORK(a, 3);
        case 1:
            WORK(a, 4);
        } while (--rounds > 0);
    }
    STORE
}
