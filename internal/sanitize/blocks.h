// What is known of blocks, kept in C: when a sanitizer finds a bad access, it cannot call Go.

#include <stddef.h>
#include <stdint.h>

// Texts must stay for good: tables and reports hold the pointers.
void freehold_record(uintptr_t addr, uintptr_t n, const char *what, int64_t goroutine, const char *stack);
void freehold_record_free(uintptr_t addr, uintptr_t n, const char *op, const char *by, int64_t goroutine, const char *stack);
void freehold_forget(uintptr_t addr, uintptr_t n);

// freehold_explain writes what is known of a bad access at addr to standard error. frame is the frame pointer of the Go code that made it, or
// NULL if C did. values says that the sanitizer watches values: an access inside a living block is then the use of something that was
// never written.
void freehold_explain(uintptr_t addr, void **frame, int values);

// caller_frame is the frame pointer of the Go code that called the C function which asks. The runtime's way from Go to a sanitizer leaves the
// register alone.
#define caller_frame() ((void **)*(void **)__builtin_frame_address(0))
