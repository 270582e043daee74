/* A system call that does not begin any more once a flag is set: see sys6_unless in arch.h.
 *
 * A signal handler that finds the thread between sys6_begin and sys6_call cannot know whether the flag was looked
 * at before it was set; it goes on at sys6_not. At sys6_call itself the kernel has stopped the call to start it
 * again after the handler, or it has not begun. Same registers as a C function's, with the last two on the stack.
 */
        .text

        .globl  sys6_unless, sys6_begin, sys6_call, sys6_not
        .hidden sys6_unless, sys6_begin, sys6_call, sys6_not
        .type   sys6_unless, @function
sys6_unless:
        .cfi_startproc
        movq    %rdi, %r11
        movq    %rsi, %rax
        movq    %rdx, %rdi
        movq    %rcx, %rsi
        movq    %r8, %rdx
        movq    %r9, %r10
        movq    8(%rsp), %r8
        movq    16(%rsp), %r9
sys6_begin:
        cmpb    $0, (%r11)
        jne     sys6_not
sys6_call:
        syscall
        ret
sys6_not:
        movq    $-513, %rax             /* NOTMADE */
        ret
        .cfi_endproc
        .size   sys6_unless, . - sys6_unless

        .section .note.GNU-stack, "", @progbits
