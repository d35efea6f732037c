/* Base mnemonics by opcode. */
#ifndef GC_SASS_MNEMONICS_H
#define GC_SASS_MNEMONICS_H

#include <stddef.h>
#include <stdint.h>

/* "FFMA"; NULL when no such opcode is known on this architecture. `opcode`: bits [11:0] with bit 91 as bit 12. */
const char *gc_mnemonic(uint32_t arch, uint16_t opcode);

/* Of a 64-bit word, sm_50 to sm_62; `opcode`: its top 16 bits. */
const char *gc_mnemonic64(uint32_t arch, uint16_t opcode);

#endif
