/* The context switch.
 *
 * A saved context is a stack pointer; at it lie, upwards: the SSE and x87 control words (8 bytes),
 * r15 r14 r13 r12 rbx rbp, the address to go on at. The vector and x87 registers are caller-saved by the
 * ABI, so a call saves nothing else. The end is an indirect jump, not `ret`: the return predictor
 * holds the addresses of the context that we leave and would be wrong every time.
 *
 * The CFI is exact at each instruction, for unwinders that look at a parked G from outside and for
 * profilers that stop a running one here.
 */
        .text

/* void context_switch(void **from rdi, void *sp rsi, void *tp rdx) */
        .globl  context_switch
        .hidden context_switch
        .type   context_switch, @function
        .p2align 6
context_switch:
        .cfi_startproc
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbx, 0
        pushq   %r12
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r12, 0
        pushq   %r13
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r13, 0
        pushq   %r14
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r14, 0
        pushq   %r15
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r15, 0
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        stmxcsr (%rsp)
        fnstcw  4(%rsp)
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp
        cmpb    $0, arch_fsgsbase(%rip)
        je      2f
        wrfsbase %rdx
1:      ldmxcsr (%rsp)
        fldcw   4(%rsp)
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        .cfi_remember_state
        popq    %r15
        .cfi_adjust_cfa_offset -8
        .cfi_restore r15
        popq    %r14
        .cfi_adjust_cfa_offset -8
        .cfi_restore r14
        popq    %r13
        .cfi_adjust_cfa_offset -8
        .cfi_restore r13
        popq    %r12
        .cfi_adjust_cfa_offset -8
        .cfi_restore r12
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbx
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbp
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        .cfi_register rip, rcx
        jmp     *%rcx
2:      .cfi_restore_state
        .cfi_adjust_cfa_offset 8
        movl    $158, %eax              /* arch_prctl */
        movl    $0x1002, %edi           /* ARCH_SET_FS */
        movq    %rdx, %rsi
        syscall
        jmp     1b
        .cfi_endproc
        .size   context_switch, . - context_switch

/* The first frame of a context made by context_make: rbx = argument, r12 = entry. No caller: the
 * undefined return address ends every backtrace here. */
        .type   context_start, @function
context_start:
        .cfi_startproc
        .cfi_undefined rip
        .cfi_undefined rbp
        xorl    %ebp, %ebp
        movq    %rbx, %rdi
        call    *%r12
        ud2
        .cfi_endproc
        .size   context_start, . - context_start

/* void *context_make(void *top rdi, entry rsi, arg rdx, fp rcx) */
        .globl  context_make
        .hidden context_make
        .type   context_make, @function
context_make:
        .cfi_startproc
        andq    $-16, %rdi
        leaq    context_start(%rip), %rax
        movq    $0, -8(%rdi)
        movq    %rax, -24(%rdi)         /* popped last: rsp is then top - 16, aligned for the call */
        movq    $0, -16(%rdi)
        movq    $0, -32(%rdi)           /* rbp */
        movq    %rdx, -40(%rdi)         /* rbx */
        movq    %rsi, -48(%rdi)         /* r12 */
        movq    $0, -56(%rdi)           /* r13 */
        movq    $0, -64(%rdi)           /* r14 */
        movq    $0, -72(%rdi)           /* r15 */
        movq    %rcx, -80(%rdi)         /* mxcsr, x87 control word */
        leaq    -80(%rdi), %rax
        ret
        .cfi_endproc
        .size   context_make, . - context_make

        .data
        .globl  arch_fsgsbase
        .hidden arch_fsgsbase
        .type   arch_fsgsbase, @object
        .size   arch_fsgsbase, 1
arch_fsgsbase:
        .byte   0

        .section .note.GNU-stack, "", @progbits
