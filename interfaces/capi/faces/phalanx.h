/*
 * The C interface of Phalanx: ranks are threads that run one function and exchange arrays by
 * messages and collectives. docs/c.md has a running example for each function.
 *
 * Each function returns PHX_OK or an error; phx_last_error has the text, which names both ranks,
 * both functions, and the lines of the calls. C99, C11, C++17.
 */
#ifndef PHALANX_H
#define PHALANX_H

#include "phalanx_functions.h"

/* Elements of n bytes each, of any meaning. */
#define PHX_BYTES(n) (((phx_type)(n) << 8) | PHX_KIND_BYTES)
/* For a collective's first buffer: the input is in the output already. */
#define PHX_IN_PLACE ((void *)(intptr_t)-1)

/* Returns from the calling function, which returns phx_err, with the error of `call`, if it is
 * one. */
#define PHX_CHECK(call)                                                                            \
    do {                                                                                           \
        phx_err phx_code_ = (call);                                                                \
        if (phx_code_ != PHX_OK)                                                                   \
            return phx_code_;                                                                      \
    } while (0)

/* The same in a function that returns nothing, such as a rank's: phx_run returns the error. */
#define PHX_CHECK_VOID(call)                                                                       \
    do {                                                                                           \
        if ((call) != PHX_OK)                                                                      \
            return;                                                                                \
    } while (0)

/* The calls, with the line in which each stands. A program that passes lines of its own, or needs
 * a function's address, uses the functions behind them, whose names end in _at. */
#ifndef PHX_NO_MACROS
#define PHX_HERE __FILE__, __LINE__
/* @macros@ */
#define phx_op_new(combine, argument, commutative, op)                                             \
    phx_op_new_at(combine, argument, commutative, #combine, op)
#endif

#endif
