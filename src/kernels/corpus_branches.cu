// Simple branches, nested ones, switches.

// ---- simple
KERNEL(c01_then) {
    LOAD
    if (a & 1) {
        WORK(a, 1);
    }
    STORE
}

KERNEL(c02_then_else) {
    LOAD
    if (a > b) {
        WORK(a, 1);
    } else {
        WORK(b, 2);
    }
    STORE
}

// Short enough to be predicated.
KERNEL(c03_short_arms) {
    LOAD
    if (a & 1)
        a += 7;
    else
        b ^= a;
    STORE
}

KERNEL(c04_early_return) {
    LOAD
    if (t >= n) return;
    if (a == 0) {
        out[t] = 1;
        return;
    }
    WORK(a, 1);
    STORE
}

// The same in all threads: a parameter, a block index.
KERNEL(c05_uniform_parameter) {
    LOAD
    if (n > 100) {
        WORK(a, 1);
        WORK(b, 2);
    } else {
        WORK(a, 3);
    }
    STORE
}

KERNEL(c06_uniform_block) {
    LOAD
    if (blockIdx.x & 1) {
        for (u32 i = 0; i < n; i++)
            WORK(a, 1);
    } else {
        WORK(a, 2);
    }
    STORE
}

// ---- nested
KERNEL(c07_nest_2) {
    LOAD
    if (a & 1) {
        WORK(a, 1);
        if (b & 1) {
            WORK(b, 2);
        } else {
            WORK(b, 3);
        }
        WORK(a, 4);
    }
    STORE
}

KERNEL(c08_nest_3) {
    LOAD
    if (a & 1) {
        WORK(a, 1);
        if (b & 2) {
            WORK(b, 2);
            if ((a ^ b) & 4) {
                WORK(a, 3);
            }
            WORK(b, 4);
        }
        WORK(a, 5);
    }
    STORE
}

KERNEL(c09_nest_4) {
    LOAD
    if (a & 1) {
        WORK(a, 1);
        if (b & 2) {
            WORK(b, 2);
            if ((a + b) & 4) {
                WORK(a, 3);
                if ((a ^ b) & 8) {
                    WORK(b, 4);
                    out[t + n] = b;
                }
                WORK(a, 5);
            }
            WORK(b, 6);
        }
        WORK(a, 7);
    }
    STORE
}

KERNEL(c10_nest_6) {
    LOAD
    if (in[t + 2 * n] & 1) {
        WORK(b, 1);
        if (in[t + 3 * n] & 2) {
            WORK(a, 2);
            if (a & 4) {
                WORK(a, 3);
                if (b & 8) {
                    WORK(b, 4);
                    if ((a + b) & 16) {
                        WORK(a, 5);
                        if ((a ^ b) & 32) {
                            WORK(b, 6);
                            out[t + n] = b;
                        }
                        WORK(a, 7);
                    }
                    WORK(b, 8);
                }
                WORK(a, 9);
            }
            WORK(b, 10);
        }
        WORK(a, 11);
    }
    STORE
}

// Each trip count comes from data of the loop around it.
KERNEL(c11_nest_loops_5) {
    LOAD
    for (u32 i = 0; i < (a & 7); i++) {
        WORK(b, 1);
        for (u32 j = 0; j < (b & 7); j++) {
            WORK(a, 2);
            for (u32 k = 0; k < ((a >> 3) & 7); k++) {
                WORK(b, 3);
                for (u32 l = 0; l < ((b >> 3) & 7); l++) {
                    WORK(a, 4);
                    for (u32 m = 0; m < ((a >> 5) & 7); m++) {
                        WORK(b, 5);
                        out[t + n] = b;
                    }
                    WORK(b, 6);
                }
                WORK(a, 7);
            }
            WORK(b, 8);
        }
        WORK(a, 9);
    }
    STORE
}

KERNEL(c12_ladder) {
    LOAD
    const u32 way = a % 7;
    if (way == 0) {
        WORK(b, 1);
    } else if (way == 1) {
        WORK(b, 2);
        WORK(a, 3);
    } else if (way == 2) {
        WORK(b, 4);
    } else if (way == 3) {
        WORK(a, 5);
    } else if (way == 4) {
        WORK(a, 6);
        WORK(b, 7);
    } else {
        WORK(a, 8);
    }
    STORE
}

// ---- switches
KERNEL(c13_switch_4) {
    LOAD
    switch (a & 3) {
    case 0:
        WORK(b, 1);
        break;
    case 1:
        WORK(b, 2);
        WORK(a, 3);
        break;
    case 2:
        WORK(a, 4);
        break;
    default:
        WORK(a, 5);
        WORK(b, 6);
    }
    STORE
}

KERNEL(c14_switch_dense) {
    LOAD
    switch (a & 15) {
    case 0:
        WORK(b, 1);
        break;
    case 1:
        WORK(b, 2);
        break;
    case 2:
        WORK(a, 3);
        break;
    case 3:
        WORK(a, 4);
        break;
    case 4:
        WORK(a, 5);
        WORK(b, 6);
        break;
    case 5:
        WORK(b, 7);
        break;
    case 6:
        WORK(a, 8);
        break;
    case 7:
        WORK(b, 9);
        WORK(a, 10);
        break;
    default:
        b = 0;
    }
    STORE
}

KERNEL(c15_switch_sparse) {
    LOAD
    switch (a) {
    case 3:
        WORK(b, 1);
        break;
    case 1000:
        WORK(b, 2);
        break;
    case 77777:
        WORK(a, 3);
        break;
    case 123456789:
        WORK(a, 4);
        break;
    default:
        WORK(b, 5);
    }
    STORE
}

KERNEL(c16_switch_falls_through) {
    LOAD
    switch (a & 7) {
    case 5:
        WORK(b, 1);
    case 4:
        WORK(a, 2);
    case 3:
        WORK(b, 3);
    case 2:
        WORK(a, 4);
    case 1:
        WORK(b, 5);
    default:
        WORK(a, 6);
    }
    STORE
}

KERNEL(c17_switch_in_loop) {
    LOAD
    for (u32 i = 0; i < (b & 31); i++) {
        switch (a % 5) {
        case 0:
            WORK(a, 1);
            break;
        case 1:
            WORK(a, 2);
            break;
        case 2:
            WORK(a, 3);
            b += 1;
            break;
        case 3:
            WORK(a, 4);
            break;
        default:
            WORK(a, 5);
        }
    }
    STORE
}
