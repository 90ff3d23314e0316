/* SPDX-License-Identifier: MIT */
/* The requests that the client knows (MS-SMB2 2.2), appended to a frame, and what it reads of the answers. */
#ifndef INTEROP_COMMAND_H
#define INTEROP_COMMAND_H

#include "client.h"

enum { FILE_OPEN = 1, FILE_CREATE = 2, FILE_OVERWRITE_IF = 5, DIRECTORY_FILE = 0x1, DELETE_ON_CLOSE = 0x1000 };

/* For the elements of a compound that take the file of the one before. */
extern const uint8_t related_file[FILE_ID_LEN];

void add_tree_connect(struct channel *c, struct request *r, const char *path);
void add_create(struct channel *c, struct request *r, const char *name, unsigned disposition, unsigned options);
void add_read(struct channel *c, struct request *r, const uint8_t *file, uint64_t offset, uint32_t len);
/* The data stays where it is and must last until the request is sent; it is the last message of its frame. */
void add_write(struct channel *c, struct request *r, const uint8_t *file, uint64_t offset, const void *data,
	       uint32_t len);
void add_query_size(struct channel *c, struct request *r, const uint8_t *file);
void add_flush(struct channel *c, struct request *r, const uint8_t *file);
void add_close(struct channel *c, struct request *r, const uint8_t *file);
void add_change_notify(struct channel *c, struct request *r, const uint8_t *directory);
void add_validate_negotiate(struct channel *c, struct request *r);
/* TREE_DISCONNECT, LOGOFF, ECHO. */
void add_empty(struct channel *c, struct request *r, unsigned command);
/* Takes no MessageId of its own and gets no answer. */
void add_cancel(struct channel *c, struct request *r, const struct pending *of);

/* The file of a CREATE's answer, NULL if that is malformed. */
const uint8_t *created_file(const struct pending *p);
/* The data of an answer to READ or QUERY_INFO, NULL if it is malformed. */
const uint8_t *answer_data(const struct pending *p, size_t *len);

#endif
