/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * http.h - serves documents by HTTP, at the path /metrics.
 */
#ifndef HTTP_H
#define HTTP_H

#include "../rows/listener.h"

/* Port 0: any free one.  Prints where it listens.  Returns NULL after a message. */
struct listener *http_open(const char *address, const char *port);

#endif /* HTTP_H */
