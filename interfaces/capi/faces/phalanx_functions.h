/*
 * Made from interfaces/capi/interface.txt: do not edit. Programs include phalanx.h. Functions whose names end
 * in _at take the caller's file, null or a string that stays, and line.
 */
#ifndef PHALANX_FUNCTIONS_H
#define PHALANX_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

/* @functions@ */

#endif
