/* Scaffold that is known by its own form: parameters, constants, zeros. */
#ifndef GC_PROOF_CONTENTS_SCAFFOLD_H
#define GC_PROOF_CONTENTS_SCAFFOLD_H

#include <proof/contents_body.h>
#include <sass/operands.h>

gc_word gc_body_word(const gc_body *body, const gc_instruction *in);
/* What the whole function writes into uniform registers: those that nothing but loads of constants writes hold parameters. */
void gc_body_find_parameters(gc_body *body);
/* After that: GC_ROLE_PARAMETER, GC_ROLE_ZEROING, or GC_ROLE_FOREIGN when it is neither. The mnemonic must be known. */
gc_role gc_scaffold_role(const gc_body *body, const gc_instruction *in);

#endif
