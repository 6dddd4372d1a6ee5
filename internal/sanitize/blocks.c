//go:build (asan || msan) && linux && (amd64 || arm64)

#include "blocks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// An event is an allocation or a free. seq orders all of them.
typedef struct {
	uintptr_t addr; // 0: empty. 1: was full, so that the search for others goes on.
	uintptr_t n;
	uint64_t seq;
	int64_t goroutine;
	const char *what; // Of an allocation what the block is, of a free the operation.
	const char *by;   // Of a free who did it.
	const char *stack;
} event;

// A table finds the last event of an address by open addressing; at most half of it is in use. It grows and never shrinks.
typedef struct {
	event *at;
	size_t mask; // Events less one, or 0 for no table.
	size_t full; // In use now or before.
} table;

static table allocated, freed;
static uint64_t seq;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t slot_of(const table *t, uintptr_t addr) {
	return (size_t)((uint64_t)addr * 0x9E3779B97F4A7C15u >> 20) & t->mask;
}

// find is the event of an address, or the empty place where it would be.
static event *find(const table *t, uintptr_t addr) {
	size_t i = slot_of(t, addr);
	while (t->at[i].addr != 0 && t->at[i].addr != addr) {
		i = (i + 1) & t->mask;
	}
	return &t->at[i];
}

// grow makes room for one more. Without memory for that it reports 0, and reports will know less.
static int grow(table *t) {
	if (t->mask != 0 && t->full < t->mask / 2) {
		return 1;
	}
	size_t alive = 0;
	for (size_t i = 0; t->mask != 0 && i <= t->mask; i++) {
		alive += t->at[i].addr > 1;
	}
	table bigger = {.mask = 1023};
	while (alive >= bigger.mask / 4) {
		bigger.mask = 2 * bigger.mask + 1;
	}
	bigger.at = calloc(bigger.mask + 1, sizeof(event));
	if (bigger.at == NULL) {
		return 0;
	}
	for (size_t i = 0; t->mask != 0 && i <= t->mask; i++) {
		if (t->at[i].addr > 1) {
			*find(&bigger, t->at[i].addr) = t->at[i];
		}
	}
	bigger.full = alive;
	free(t->at);
	*t = bigger;
	return 1;
}

static void put(table *t, event e) {
	pthread_mutex_lock(&lock);
	if (grow(t)) {
		event *at = find(t, e.addr);
		t->full += at->addr == 0;
		e.seq = ++seq;
		*at = e;
	}
	pthread_mutex_unlock(&lock);
}

void freehold_record(uintptr_t addr, uintptr_t n, const char *what, int64_t goroutine, const char *stack) {
	put(&allocated, (event){addr, n, 0, goroutine, what, NULL, stack});
}

void freehold_record_free(uintptr_t addr, uintptr_t n, const char *op, const char *by, int64_t goroutine, const char *stack) {
	put(&freed, (event){addr, n, 0, goroutine, op, by, stack});
}

static void drop(table *t, uintptr_t addr) {
	if (t->mask != 0) {
		event *e = find(t, addr);
		if (e->addr != 0) {
			e->addr = 1;
		}
	}
}

void freehold_forget(uintptr_t addr, uintptr_t n) {
	pthread_mutex_lock(&lock);
	for (uintptr_t a = addr; a < addr + n; a++) {
		drop(&allocated, a);
		drop(&freed, a);
	}
	pthread_mutex_unlock(&lock);
}

// containing is the last event whose range holds addr.
static const event *containing(const table *t, uintptr_t addr) {
	const event *last = NULL;
	for (size_t i = 0; t->mask != 0 && i <= t->mask; i++) {
		const event *e = &t->at[i];
		if (e->addr > 1 && addr - e->addr < e->n && (last == NULL || e->seq > last->seq)) {
			last = e;
		}
	}
	return last;
}

static uintptr_t distance(const event *e, uintptr_t addr) {
	return addr < e->addr ? e->addr - addr : addr - (e->addr + e->n) + 1;
}

// nearest is the block that ends or begins closest to addr, at most a page away. Of two equally close ones it is the one before, because
// more programs run over an end than under a beginning.
static const event *nearest(const table *t, uintptr_t addr) {
	const event *best = NULL;
	uintptr_t least = 4097;
	for (size_t i = 0; t->mask != 0 && i <= t->mask; i++) {
		const event *e = &t->at[i];
		if (e->addr <= 1) {
			continue;
		}
		uintptr_t d = distance(e, addr);
		if (d < least || (d == least && best != NULL && e->addr < best->addr)) {
			least = d;
			best = e;
		}
	}
	return best;
}

// A line of a report, written at once so that those of other threads do not cut it.
static void say(const char *s) {
	size_t n = strlen(s);
	while (n > 0) {
		ssize_t done = write(STDERR_FILENO, s, n);
		if (done <= 0) {
			return;
		}
		s += done;
		n -= (size_t)done;
	}
}

// happened says where a block was allocated or freed.
static void happened(const char *verb, const event *e) {
	char line[160], by[48] = "";
	if (e->goroutine != 0) {
		snprintf(by, sizeof by, " by goroutine %lld", (long long)e->goroutine);
	}
	snprintf(line, sizeof line, "  %s%s%s%s:\n", verb, by, e->by != NULL ? ", by " : "", e->by != NULL ? e->by : "");
	say(line);
	say(e->stack);
}

// Of the sanitizers' own library. It reads the debug information of the program.
void __sanitizer_symbolize_pc(void *pc, const char *format, char *out, size_t size);

static int begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

// accessed says where the access was made. Go keeps frame pointers: at each lies that of the caller, and behind it where it returns to. The
// first frames are the runtime's, which asked the sanitizer, the last ones those that start a goroutine.
static void accessed(void **frame) {
	if (frame == NULL) {
		return;
	}
	say("  accessed by:\n");
	for (int i = 0; i < 32; i++) {
		char text[1024] = "";
		__sanitizer_symbolize_pc((char *)frame[1] - 1, "    %f\n        %s:%l\n", text, sizeof text - 1);
		if (begins(text, "    runtime.main\n") || begins(text, "    runtime.goexit")) {
			return;
		}
		if (begins(text, "    <null>") || begins(text, "    ??")) {
			if (i > 1) {
				return; // The first function of a goroutine, which no function calls.
			}
			say("    (the program has no debug information; go test leaves it out unless -o or -c keeps the binary)\n");
			return;
		}
		if (!begins(text, "    runtime.asan") && !begins(text, "    runtime.msan")) {
			say(text);
		}
		void **next = frame[0];
		if (next <= frame) {
			return; // The outermost has none.
		}
		frame = next;
	}
}

// bytes writes a count.
static const char *bytes(char *out, size_t size, uintptr_t n) {
	snprintf(out, size, "%llu byte%s", (unsigned long long)n, n == 1 ? "" : "s");
	return out;
}

static void explain_inside(uintptr_t addr, void **frame, const event *block, const event *end, int values) {
	char line[320], at[32], size[32];
	bytes(at, sizeof at, addr - block->addr);
	bytes(size, sizeof size, block->n);
	const char *advice = "";
	if (end != NULL) {
		snprintf(line, sizeof line, "freehold: use after %s: access %s into a block of %s (%s) that was freed\n", end->what, at, size, block->what);
		advice = "  What to do: Free a block after its last use, and let no pointer, slice or string into it live longer.\n";
	} else if (values) {
		snprintf(line, sizeof line, "freehold: uninitialised read: %s into a block of %s (%s) that nobody has written there\n", at, size, block->what);
		advice = "  What to do: Write the memory before reading it, or allocate it zeroed.\n";
	} else {
		snprintf(line, sizeof line, "freehold: bad access: %s into a block of %s (%s) that is alive\n", at, size, block->what);
	}
	say(line);
	accessed(frame);
	happened("allocated", block);
	if (end != NULL) {
		happened("freed", end);
	}
	say(advice);
}

static void explain_outside(uintptr_t addr, void **frame, const event *block) {
	char line[320], off[32], size[32];
	bytes(size, sizeof size, block->n);
	const char *advice = "  What to do: Check the index against the length, or allocate more.\n";
	if (addr < block->addr) {
		bytes(off, sizeof off, block->addr - addr);
		snprintf(line, sizeof line, "freehold: underflow: access %s before a block of %s (%s)\n", off, size, block->what);
		advice = "  What to do: Check the offset: it lies before the block.\n";
	} else if (addr == block->addr + block->n) {
		snprintf(line, sizeof line, "freehold: overflow: access right behind a block of %s (%s)\n", size, block->what);
	} else {
		bytes(off, sizeof off, addr - block->addr - block->n);
		snprintf(line, sizeof line, "freehold: overflow: access %s behind a block of %s (%s)\n", off, size, block->what);
	}
	say(line);
	accessed(frame);
	happened("allocated", block);
	const event *end = containing(&freed, block->addr);
	if (end != NULL && end->seq > block->seq) {
		happened("freed", end);
	}
	say(advice);
}

void freehold_explain(uintptr_t addr, void **frame, int values) {
	pthread_mutex_lock(&lock);
	const event *block = containing(&allocated, addr);
	const event *end = containing(&freed, addr);
	if (block != NULL) {
		explain_inside(addr, frame, block, end != NULL && end->seq > block->seq ? end : NULL, values);
	} else if (end != NULL) {
		char line[160];
		snprintf(line, sizeof line, "freehold: use after %s: access to memory that was freed\n", end->what);
		say(line);
		accessed(frame);
		happened("freed", end);
	} else if ((block = nearest(&allocated, addr)) != NULL) {
		explain_outside(addr, frame, block);
	}
	pthread_mutex_unlock(&lock);
}
