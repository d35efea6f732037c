/* Between the two files of the book. */
#ifndef FAKES_BOOK_INTERNAL_H
#define FAKES_BOOK_INTERNAL_H

#include "book.h"

void book_lock(void);
void book_unlock(void);
void book_forget_objects(void);

#endif
