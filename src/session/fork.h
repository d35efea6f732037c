/* What a forked child must put right before the library is of use there. */
#ifndef GC_SESSION_FORK_H
#define GC_SESSION_FORK_H

/* Registers, once, what runs in each forked child. */
void gc_fork_watch(void);

/* Run in the child: locks that another thread of the parent may have held are made anew. */
void gc_runtime_after_fork(void);
void gc_process_locks_after_fork(void);

#endif
