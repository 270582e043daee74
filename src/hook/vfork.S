/* vfork, which cannot be written in C. */
        .text

/* vfork returns twice, so its caller's frame must be on top when it is called: a jump, no call. */
        .globl  vfork
        .type   vfork, @function
vfork:
        .cfi_startproc
        cmpl    $0, active(%rip)
        jne     1f
        movq    realvfork(%rip), %rax
        jmp     *%rax
1:      jmp     vforkactive
        .cfi_endproc
        .size   vfork, . - vfork
        .globl  __vfork
        .set    __vfork, vfork

        .section .note.GNU-stack, "", @progbits
