/* SPDX-License-Identifier: MIT */
/*
 * libsmb3sign: sign and verify SMB2/SMB3 messages with HMAC-SHA256, AES-128-CMAC or AES-128-GMAC.
 *
 * This header is the manual. "MS-SMB2" is Microsoft's [MS-SMB2], revision 84.
 *
 * MEMORY    The library allocates only in smb3sign_key_new, smb3sign_key_derive, smb3sign_key_dup and
 *           smb3sign_guard_new. Nothing else can fail for lack of resources. Stack use is bounded: 8 KiB at most. Keys,
 *           contexts and intermediate secrets are wiped when they are done with.
 * THREADS   A key is written while it is made and while it is wiped; between the two any number of threads may use it
 *           at once without a lock. Handing the pointer to another thread needs the same publication barrier as any
 *           other object (a mutex, an atomic store, thread creation). A context belongs to one thread at a time.
 *           Everything else keeps its state in the caller's arguments.
 * SIGNALS   sign, verify, compute and their stepwise forms are async-signal-safe and fork-safe.
 * SECRETS   Time and memory addresses depend on lengths, header fields and on the algorithm, never on key bytes, body
 *           bytes or the expected signature. Every kernel is constant-time, the portable ones too (where a
 *           multiplication of 32 by 32 bits is).
 * ERRORS    int results: 0 is success, everything negative means "do not send, do not accept". errno is not used. A
 *           call that is refused changes nothing, unless its comment says so.
 * BYTES     Lengths and offsets are in bytes. Messages are as on the wire, from the 0xFE 'S' 'M' 'B' on: the 4-byte
 *           transport prefix (direct TCP or NetBIOS session service) is never part of a message.
 */
#ifndef SMB3SIGN_H
#define SMB3SIGN_H

#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
typedef struct {
	void *iov_base;
	size_t iov_len;
} smb3sign_iov;
#else
#include <sys/uio.h>
typedef struct iovec smb3sign_iov; /* so that callers pass the array they give to writev() */
#endif

/* The build system reads these three lines. The soname is MAJOR.MINOR until 1.0. */
#define SMB3SIGN_VERSION_MAJOR 0
#define SMB3SIGN_VERSION_MINOR 1
#define SMB3SIGN_VERSION_PATCH 0

/* SMB3SIGN_STATIC: define it when linking the static library on Windows. */
#if defined(_WIN32) && !defined(SMB3SIGN_STATIC)
#ifdef SMB3SIGN_BUILDING
#define SMB3SIGN_API __declspec(dllexport)
#else
#define SMB3SIGN_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define SMB3SIGN_API __attribute__((visibility("default")))
#else
#define SMB3SIGN_API
#endif

#ifdef __GNUC__
#define SMB3SIGN_MUST_CHECK __attribute__((warn_unused_result))
#else
#define SMB3SIGN_MUST_CHECK
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define SMB3SIGN_HEADER_LEN   64   /* the SMB2 header, MS-SMB2 2.2.1 */
#define SMB3SIGN_KEY_LEN      16   /* a signing key, whatever the algorithm and the cipher, MS-SMB2 3.3.1.8 */
#define SMB3SIGN_SIG_LEN      16   /* the Signature field, at offset 48 of the header */
#define SMB3SIGN_KEY_SIZE_MAX 2048 /* smb3sign_key_size() never exceeds this: for embedding */

/* Signing algorithms, by their ids on the wire (MS-SMB2 2.2.3.1.7). All three are 128-bit, AES-256 ciphers or not. */
enum { SMB3SIGN_HMAC_SHA256 = 0, SMB3SIGN_AES_CMAC = 1, SMB3SIGN_AES_GMAC = 2 };

/* Results. 0 is the only success: anything else, codes of later versions too, means do not send, do not accept. */
enum {
	SMB3SIGN_OK = 0,
	SMB3SIGN_E_SIGNATURE = -1,   /* SIGNED is set and the signature is wrong */
	SMB3SIGN_E_UNSIGNED = -2,    /* SIGNED is clear and there is no valid signature */
	SMB3SIGN_E_EXEMPT = -3,      /* the protocol never signs this message; from verify: it was NOT VERIFIED */
	SMB3SIGN_E_MESSAGE = -4,     /* malformed header, length, context or chain; direction against the key's role */
	SMB3SIGN_E_INVAL = -5,       /* the caller's mistake: NULL, misaligned or short memory, wrong context state */
	SMB3SIGN_E_UNSUPPORTED = -6, /* unknown or unusable algorithm, dialect or use */
	SMB3SIGN_E_NOMEM = -7,       /* from key_new, key_derive, key_dup and guard_new only */
	SMB3SIGN_E_NONCE = -8        /* this GMAC nonce was already used */
};
/*
 * Nothing in received bytes or in their number gives E_INVAL: smb3sign_verify_buf, smb3sign_verify_frame,
 * smb3sign_frame_next and smb3sign_caps_* answer E_MESSAGE for those.
 */

/* "0.1.0": the version of the library in use, as opposed to the macros' version of this header. */
SMB3SIGN_API const char *smb3sign_version(void);

/* One English sentence without a full stop for a result above; never NULL, for unknown codes too. */
SMB3SIGN_API const char *smb3sign_strerror(int err);

/*
 * The NTSTATUS a server answers for a result (MS-SMB2 3.3.5.2.4, 3.3.5.2): OK 0; SIGNATURE, UNSIGNED and EXEMPT
 * 0xC0000022 ACCESS_DENIED; MESSAGE 0xC000000D INVALID_PARAMETER; UNSUPPORTED 0xC00000BB NOT_SUPPORTED; NOMEM
 * 0xC000009A INSUFFICIENT_RESOURCES; INVAL, NONCE and unknown codes 0xC00000E5 INTERNAL_ERROR. A CANCEL is never
 * answered, whatever the result.
 */
SMB3SIGN_API uint32_t smb3sign_ntstatus(int err);

/* ---- Preauthentication integrity hash and key derivation ------------------------------------------------------- */

/*
 * SMB 3.1.1's preauthentication integrity hash (MS-SMB2 3.1.4.4.1, 3.2.5.2): H = SHA-512(H || message), 64 bytes. A
 * plain value: copy the connection's after NEGOTIATE to start each SESSION_SETUP exchange, the exchange of a bind too
 * (it starts from the hash of its own connection). A re-authentication keeps its keys and needs none.
 */
typedef struct {
	uint8_t hash[64];
} smb3sign_preauth;

/* H = 64 zero bytes. */
SMB3SIGN_API void smb3sign_preauth_init(smb3sign_preauth *p);

/*
 * Add one WHOLE message, as on the wire, in any segmentation. Feed it every message of the exchange: it hashes both
 * NEGOTIATE messages, SESSION_SETUP requests and SESSION_SETUP responses with STATUS_MORE_PROCESSING_REQUIRED. Anything
 * else gives E_EXEMPT with *p unchanged: the final SESSION_SETUP response, which the derived key signs, and the
 * NEGOTIATE response with dialect 0x02FF that answers an SMB1 multi-protocol request. Not an SMB2 message: E_MESSAGE.
 * NULL: E_INVAL.
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_preauth_update(smb3sign_preauth *p, const smb3sign_iov *msg, size_t cnt);

enum {
	SMB3SIGN_USE_SIGNING,          /* Session.SigningKey, Channel.SigningKey */
	SMB3SIGN_USE_CLIENT_TO_SERVER, /* cipher key: the client's EncryptionKey, the server's DecryptionKey */
	SMB3SIGN_USE_SERVER_TO_CLIENT, /* cipher key: the client's DecryptionKey, the server's EncryptionKey */
	SMB3SIGN_USE_APPLICATION       /* Session.ApplicationKey */
};

/*
 * Derive one key from the session key that GSS gave (MS-SMB2 3.1.4.2, 3.2.5.3.1, 3.3.5.5.3) into out[out_len].
 *
 * dialect      0x0202, 0x0210, 0x0300, 0x0302 or 0x0311, else E_UNSUPPORTED. use: as above, else E_UNSUPPORTED.
 * session_key  out_len 16: its first 16 bytes count, padded on the right with zeros if there are fewer. NULL is E_INVAL
 *              (a failed GSS query must not become the public all-zero key); non-NULL with length 0 is 16 zeros, the
 *              key of an anonymous session.
 * preauth      3.1.1: the exchange's hash after the last SESSION_SETUP request. NULL or all zero: E_INVAL. Other
 *              dialects ignore it.
 * out_len      16, or 32 for the cipher keys of AES-256 (3.1.1 only), which come from the whole session key. Else
 *              E_INVAL.
 *
 * 2.0.2 and 2.1 derive nothing: SIGNING and APPLICATION are the session key, cipher uses are E_UNSUPPORTED.
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_derive(unsigned dialect, unsigned use, const void *session_key,
						     size_t session_key_len, const smb3sign_preauth *preauth, void *out,
						     size_t out_len);

/*
 * The function beneath it: SP 800-108 counter mode with HMAC-SHA256, a 32-bit big-endian counter before the fixed input
 * Label || 0x00 || Context || [8 * out_len] in 32 bits. Label and context are taken as they are: a label that ends in
 * NUL (all of SMB's do) is passed with it. ki, label and context may be empty (NULL with length 0). out_len 0 or above
 * 0x1FFFFFFF, or NULL with a length: E_INVAL.
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_kdf(const void *ki, size_t ki_len, const void *label, size_t label_len,
						  const void *context, size_t context_len, void *out, size_t out_len);

/* ---- Keys ------------------------------------------------------------------------------------------------------ */

/*
 * A key: algorithm, role, expanded key material, and the kernels chosen for it. Prepared once per session or channel,
 * then only read. The algorithm belongs to the key, not to the connection: a bind request is signed with the session's
 * key and so with the session's algorithm, whatever its own connection negotiated (MS-SMB2 3.3.5.5).
 */
typedef struct smb3sign_key smb3sign_key;

/*
 * Our own role. CLIENT signs requests and verifies responses, SERVER signs responses and verifies requests; a message
 * of the other direction is E_MESSAGE, so a message reflected by an attacker never verifies. ANY is for tools.
 */
enum { SMB3SIGN_ROLE_ANY = 0, SMB3SIGN_ROLE_CLIENT = 1, SMB3SIGN_ROLE_SERVER = 2 };

/*
 * Make a key from raw key bytes; raw_len must be 16, else E_INVAL. Unknown algorithm: E_UNSUPPORTED; unknown role:
 * E_INVAL; no memory: E_NOMEM. *key is written on success only. Free it with smb3sign_key_free.
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_key_new(smb3sign_key **key, unsigned alg, const void *raw, size_t raw_len,
						      unsigned role);

/*
 * smb3sign_derive(SIGNING) and smb3sign_key_new in one, the raw key wiped; errors of both. The algorithm must be one of
 * the dialect's: 2.0.2 and 2.1 HMAC-SHA256, 3.0 and 3.0.2 AES-CMAC, 3.1.1 all three, else E_UNSUPPORTED.
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_key_derive(smb3sign_key **key, unsigned alg, unsigned dialect,
							 const void *session_key, size_t session_key_len,
							 const smb3sign_preauth *preauth, unsigned role);

/* A deep copy, on the heap, of a key of either sort: for replies that outlive their session. E_NOMEM, E_INVAL. */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_key_dup(smb3sign_key **copy, const smb3sign_key *key);

/* Wipe and free a key of key_new, key_derive or key_dup. NULL is fine. No other thread may still use it. */
SMB3SIGN_API void smb3sign_key_free(smb3sign_key *key);

/*
 * The same in memory of yours. smb3sign_key_size: bytes that a key of this algorithm takes on this machine, 0 if the
 * algorithm is unknown; ask, never store the figure: it depends on the processor and on the library's version.
 * smb3sign_key_init: mem must be aligned as malloc or max_align_t aligns and hold that many bytes, else E_INVAL;
 * *key = mem. Do not memcpy a placed key, use smb3sign_key_dup. End it with smb3sign_key_wipe (NULL is fine); sign and
 * verify with a wiped key, or with memory that is all zero, give E_INVAL.
 */
SMB3SIGN_API size_t smb3sign_key_size(unsigned alg);
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_key_init(smb3sign_key **key, void *mem, size_t mem_len, unsigned alg,
						       const void *raw, size_t raw_len, unsigned role);
SMB3SIGN_API void smb3sign_key_wipe(smb3sign_key *key);

/* The key's algorithm; UINT_MAX, which is none, for NULL or a wiped key. */
SMB3SIGN_API unsigned smb3sign_key_alg(const smb3sign_key *key);

/* The kernels in use, as "aes=ni ghash=pclmul": for logs. Lives as long as the key; "none" for NULL or a wiped key. */
SMB3SIGN_API const char *smb3sign_key_impl(const smb3sign_key *key);

/* ---- Which messages are never signed --------------------------------------------------------------------------- */

/* Why, in the order in which the reasons are tried. sign and verify answer E_EXEMPT for all but SIGNABLE. */
enum {
	SMB3SIGN_SIGNABLE = 0,
	SMB3SIGN_EXEMPT_NEGOTIATE, /* Command NEGOTIATE, MS-SMB2 3.2.4.1.1, 3.3.5.2.4 */
	SMB3SIGN_EXEMPT_SESSION0,  /* SessionId 0: there is no key */
	SMB3SIGN_EXEMPT_INTERIM,   /* a response with STATUS_PENDING: the final one has the same GMAC nonce, 3.3.4.2 */
	SMB3SIGN_EXEMPT_BREAK, /* an oplock or lease break notification: OPLOCK_BREAK response, MessageId -1, 3.3.4.6 */
	/* The last three are never legal: nobody sends them, signed or not. */
	SMB3SIGN_EXEMPT_MID_MAX,        /* any other message with MessageId -1 */
	SMB3SIGN_EXEMPT_MID0,           /* MessageId 0, but for a CANCEL request under HMAC or CMAC, MS-SMB2 3.2.4.24 */
	SMB3SIGN_EXEMPT_CANCEL_RESPONSE /* a response with Command CANCEL */
};

/*
 * One of the above for the 64-byte header at hdr, or E_MESSAGE if it is no SMB2 header (ProtocolId, StructureSize).
 * NULL: E_INVAL; unknown algorithm: E_UNSUPPORTED.
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_exempt(unsigned alg, const void *hdr);

/* ---- Whole messages -------------------------------------------------------------------------------------------- */

/*
 * hdr   The 64-byte header, final but for SMB2_FLAGS_SIGNED and Signature: MessageId, NextCommand, Status, credits and
 *       ids are covered. What Signature holds does not matter: it counts as 16 zero bytes (MS-SMB2 3.1.4.1).
 * body  All that follows the header in wire order, the alignment padding of a compound's element included: up to
 *       NextCommand, or to the end of the transport frame in the last element. Segments may have any length and
 *       alignment and may be empty, their base NULL too. body_cnt 0 (body NULL too): a header alone.
 *
 * Checks, in this order: E_INVAL (NULL; lengths that sum to more than SIZE_MAX); E_MESSAGE (ProtocolId, StructureSize);
 * E_EXEMPT (the reasons above); E_MESSAGE (direction against the key's role; a NextCommand other than 0 that is not
 * 64 + body length, the commonest mistake with compounds). Only then is the MAC computed.
 *
 * The GMAC nonce comes from the header (MessageId, direction, CANCEL; MS-SMB2 3.1.4.1) and cannot be given. Sign a
 * message once, as the last step before it is sent: two different messages under one nonce give the key away.
 */

/*
 * Sets SIGNED in hdr and writes the 16 bytes of the signature at offset 48; touches nothing else. On failure *hdr is as it
 * was.
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_sign(const smb3sign_key *key, void *hdr, const smb3sign_iov *body,
						   size_t body_cnt);

/*
 * OK if and only if the 16 bytes at offset 48 are right for the message as it stands (a clear SIGNED flag over a right
 * signature included). Else E_SIGNATURE, or E_UNSIGNED if SIGNED is clear. Writes nothing; compares in constant time.
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_verify(const smb3sign_key *key, const void *hdr, const smb3sign_iov *body,
						     size_t body_cnt);

/*
 * The 16 bytes that smb3sign_sign would write (with SIGNED set), into sig; hdr is only read. Same checks. For callers
 * that build the header elsewhere; not for verifying: comparing tags by hand is smb3sign_verify's job.
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_compute(const smb3sign_key *key, const void *hdr,
						      const smb3sign_iov *body, size_t body_cnt, void *sig);

/* The same for one contiguous message of len bytes; len < 64 is E_MESSAGE. */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_sign_buf(const smb3sign_key *key, void *msg, size_t len);
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_verify_buf(const smb3sign_key *key, const void *msg, size_t len);

/* ---- Compounds ------------------------------------------------------------------------------------------------- */

/*
 * A frame is what one transport prefix announces: one message, or several linked by NextCommand (MS-SMB2 3.2.4.1.4).
 * Each has its own header and signature.
 *
 * smb3sign_frame_next: *msg_len = length of the message that starts at off (of the frame's len bytes): NextCommand, or
 * all that is left if that is 0; off + *msg_len == len at the last. E_MESSAGE if no whole SMB2 header stands at off, or
 * if NextCommand is below 64 or leaves no room for the next header. 8-byte alignment is not demanded (Windows and Samba
 * accept messages without). off >= len with len > 0, and NULL: E_INVAL.
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_frame_next(const void *frame, size_t len, size_t off, size_t *msg_len);

/* Signs every message of the frame with one key, or, if any of them cannot be signed, none: the first one's error. */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_sign_frame(const smb3sign_key *key, void *frame, size_t len);

/*
 * Verifies every message of the frame with one key. The first that fails, E_EXEMPT included, gives the result and its
 * offset in *bad_off (may be NULL; untouched on success and on E_INVAL). Elements of several sessions: loop
 * smb3sign_frame_next and smb3sign_verify_buf, and remember that a RELATED element belongs to the session of the chain,
 * whatever its SessionId says.
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_verify_frame(const smb3sign_key *key, const void *frame, size_t len,
							   size_t *bad_off);

/* ---- The same while the body arrives --------------------------------------------------------------------------- */

/*
 * begin, update for each piece in wire order, end. The context is the caller's, needs no initialisation, holds no
 * pointer to itself (memcpy moves it) and is wiped by end and abort; the key must live until then, hdr need not: its 64
 * bytes are read (and SIGNED set, by sign_begin) in begin. begin checks what smb3sign_sign and smb3sign_verify check of
 * the header; NextCommand against the body's length is checked by end.
 *
 * A failed begin leaves the context inert: update ignores it, end repeats the error. end of a context that is ended,
 * aborted, zeroed or of the other kind is E_INVAL, never OK.
 */
typedef struct {
	uint64_t opaque[64];
} smb3sign_ctx;

SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_sign_begin(smb3sign_ctx *ctx, const smb3sign_key *key, void *hdr);
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_verify_begin(smb3sign_ctx *ctx, const smb3sign_key *key, const void *hdr);

/* len bytes more of the body. NULL with len > 0 makes end answer E_INVAL. */
SMB3SIGN_API void smb3sign_update(smb3sign_ctx *ctx, const void *data, size_t len);

/* The signature, 16 bytes, into sig (to be stored at offset 48); written on success only. */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_sign_end(smb3sign_ctx *ctx, void *sig);

/* As smb3sign_verify, against the Signature that verify_begin saw. */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_verify_end(smb3sign_ctx *ctx);

/* Give up: wipes the context. SIGNED stays set in the header that sign_begin was given. NULL is fine. */
SMB3SIGN_API void smb3sign_abort(smb3sign_ctx *ctx);

/* ---- Many messages at once ------------------------------------------------------------------------------------- */

/*
 * Any number of messages; keys, algorithms, lengths and segmentations may differ. Results are those of signing or
 * verifying them one by one. Every result is written. Returns the first result that is not OK, or OK. One header must
 * not occur twice in sign_batch, nor lie in another message's body. msgs NULL with n > 0: E_INVAL.
 *
 * Handed over together, several messages share the core: CMAC and HMAC, which are serial within a message, run side by
 * side, best with batch_width messages or more of similar length; with one key CMAC gains more than with a key for
 * each. At most 8 KiB of stack are used, and no memory besides.
 */
typedef struct {
	const smb3sign_key *key;
	void *hdr; /* verify_batch only reads it */
	const smb3sign_iov *body;
	size_t body_cnt;
	int result;
	uint32_t reserved; /* 0, else this message's result is E_INVAL */
} smb3sign_msg;

SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_sign_batch(smb3sign_msg *msgs, size_t n);
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_verify_batch(smb3sign_msg *msgs, size_t n);

/* How many messages with keys like this one are worth handing over together: 1 if one by one is as fast. NULL: 0. */
SMB3SIGN_API size_t smb3sign_batch_width(const smb3sign_key *key);

/* ---- Negotiation of the algorithm ------------------------------------------------------------------------------ */

/*
 * Find the SMB2_SIGNING_CAPABILITIES context (MS-SMB2 2.2.3.1.7, 2.2.4.1.7) of a whole NEGOTIATE message, request or
 * response: *data points into the message, *data_len is the context's DataLength. OK with *data NULL and *data_len 0 if
 * there is none, or if 0x0311 is neither offered nor chosen. E_MESSAGE, *data and *data_len untouched: not a NEGOTIATE
 * message, a wrong StructureSize or no dialects in its body, a second SIGNING context, and contexts that leave the
 * message, overlap what stands before them or do not start at a multiple of 8. NULL: E_INVAL. What the context says is
 * smb3sign_caps_accept's matter.
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_caps_find(const void *negotiate, size_t len, const void **data,
							size_t *data_len);

/*
 * The Data of an SMB2_SIGNING_CAPABILITIES context: a count and n ids, most preferred first; a request lists all that
 * the client would use, a response the one that was chosen (on a connection that is to be bound to a session, a request
 * lists the session's alone, MS-SMB2 3.2.4.2.2.2). *out_len: room in out, then 2 + 2 * n. E_UNSUPPORTED: an id that is
 * none of the three. E_INVAL: NULL, no ids, one twice, too little room.
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_caps_encode(const uint16_t *algs, size_t n, void *out, size_t *out_len);

/*
 * Server: choose an algorithm (MS-SMB2 3.3.5.4). data/len: the request's context, NULL if it had none; mine: ours, most
 * preferred first, whose order decides (the specification leaves it open, Samba does so). Unknown ids, repeated ids and
 * bytes behind the list are ignored. Nothing in common, or no context: AES-CMAC with *matched 0, else *matched is 1.
 * Answer with a context if and only if data is not NULL, even if nothing matched: Windows and the specification do, and
 * a client that did not offer AES-CMAC then fails, as it should. E_MESSAGE (answer INVALID_PARAMETER): no ids, or more
 * announced than there are bytes. E_UNSUPPORTED: the outcome is not in mine, AES-CMAC by default included. mine, alg or
 * matched NULL, an id in mine that is none of the three: E_INVAL. *alg and *matched are written on success only.
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_caps_choose(const void *data, size_t len, const uint16_t *mine,
							  size_t n_mine, unsigned *alg, int *matched);

/*
 * Client: the algorithm that the server's answer selects (MS-SMB2 3.2.5.2). data/len: its context's Data, NULL if it
 * sent none, which means AES-CMAC. offered: the ids that the request's context listed; a client that sent no context
 * passes { SMB3SIGN_AES_CMAC }. Exactly one id, else E_MESSAGE (bytes behind it are ignored: Linux pads); one of the
 * offered, else E_UNSUPPORTED, AES-CMAC by default included. offered or alg NULL: E_INVAL. *alg is written on success
 * only.
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_caps_accept(const void *data, size_t len, const uint16_t *offered,
							  size_t n_offered, unsigned *alg);

/*
 * Append a SIGNING context with these ids to a NEGOTIATE message that is being built, request or response: *len bytes
 * so far, in memory of cap bytes. Zeros up to a multiple of 8, the context, NegotiateContextOffset (of the first
 * context) and NegotiateContextCount; *len grows, nothing is padded behind it (the preauthentication hash covers
 * padding). E_MESSAGE: not a NEGOTIATE message, malformed, 0x0311 not in it, a SIGNING context already there, contexts
 * that do not end at *len, or 65535 of them. E_UNSUPPORTED and E_INVAL as caps_encode, too little room included; the
 * message is untouched then.
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_caps_append(void *negotiate, size_t *len, size_t cap,
							  const uint16_t *algs, size_t n);

/* ---- Binding a session to another connection (multichannel) ---------------------------------------------------- */

/*
 * One side of a bind. dialect: 0x0202 .. 0x0311. alg: what that connection's messages are signed with. cipher: the id
 * of SMB2_ENCRYPTION_CAPABILITIES, 0 if none; 3.0 and 3.0.2 with encryption: 1 (AES-128-CCM).
 */
typedef struct {
	unsigned dialect;
	unsigned alg;
	unsigned cipher;
	unsigned reserved[3]; /* 0, else INVALID_PARAMETER */
} smb3sign_binding;

/*
 * Server: the NTSTATUS that a SESSION_SETUP with the BINDING flag gets for what the two connections negotiated, 0 if
 * they go together. Ask before verifying the request. In this order, which is Windows' as Samba recorded it (MS-SMB2 is
 * silent on the first two): AES-GMAC on the session's connection alone: 0xC000042A REQUEST_OUT_OF_SEQUENCE; on the new
 * connection alone: 0xC00000BB NOT_SUPPORTED; the new connection below 3.0: 0xC00000D0 REQUEST_NOT_ACCEPTED; another
 * dialect, then another cipher: 0xC000000D INVALID_PARAMETER. NULL, an unknown dialect or algorithm: INVALID_PARAMETER.
 * The request is to be signed with the session's key and so with the session's algorithm. Whether it is signed at all,
 * the session a guest's, or the channel bound already, is the caller's to ask (MS-SMB2 3.3.5.5).
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK uint32_t smb3sign_bind_status(const smb3sign_binding *session,
							       const smb3sign_binding *connection);

/* ---- Policy: what must be signed, what must be verified, what to answer ---------------------------------------- */

/* The state of an element and of its session, ORed together. */
enum {
	SMB3SIGN_DECRYPTED = 1,    /* it came, or will go, inside a TRANSFORM header */
	SMB3SIGN_REQUIRED = 2,     /* Session.SigningRequired */
	SMB3SIGN_HAVE_SESSION = 4, /* there is a session for it, or one being set up; RELATED elements: the chain's */
	SMB3SIGN_HAVE_KEY = 8,     /* and a key for it */
	SMB3SIGN_GUEST = 16,       /* a guest's or an anonymous session */
	SMB3SIGN_PEER_SIGNED = 32, /* sending a response: the request carried SIGNED */
	SMB3SIGN_SMB311 = 64,      /* dialect 3.1.1 */
	SMB3SIGN_BINDING = 128,    /* of a SESSION_SETUP exchange with the BINDING flag */
	SMB3SIGN_MUST_SIGN = 256,  /* FSCTL_VALIDATE_NEGOTIATE_INFO, and what else is signed whatever the session says */
	SMB3SIGN_ECHO = 512        /* receiving a response: smb3sign_is_echo() said so */
};

/* What to do with a message that came. */
enum {
	SMB3SIGN_ACT_PASS,        /* process it; it is not to be verified */
	SMB3SIGN_ACT_VERIFY,      /* verify it: process it if that gives OK; of anything else a client discards it, and a
				   * server answers smb3sign_ntstatus(), but to a CANCEL nothing */
	SMB3SIGN_ACT_DISCARD,     /* drop it, answer nothing */
	SMB3SIGN_ACT_REJECT,      /* server: answer *ntstatus, do not process it */
	SMB3SIGN_ACT_STATUS_ONLY, /* client: deliver the error Status, nothing of the body: nobody vouches for it */
	SMB3SIGN_ACT_DISCONNECT   /* end the connection */
};

/*
 * What to do with a received element (MS-SMB2 3.3.5.2.4, 3.2.5.1.3; where those are silent, as Windows and Samba do):
 * one of SMB3SIGN_ACT_*. role: ours, CLIENT or SERVER. Elements of a chain are asked one by one. A client derives the
 * key of a session before it asks about the last SESSION_SETUP response. *ntstatus is the answer to give for REJECT and
 * is 0 for everything else. E_MESSAGE: not an SMB2 header. E_INVAL: NULL, another role, an unknown state bit. A server
 * sets REQUIRED for a SESSION_SETUP on a bound channel; on a session's first channel an unsigned re-authentication is
 * legal where signing is optional. With MUST_SIGN a client believes no error unsigned (MS-SMB2 3.2.5.14.12).
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_receive_policy(unsigned role, const void *hdr, unsigned state,
							     uint32_t *ntstatus);

/*
 * Whether to sign an element that is about to be sent, its header filled in (MS-SMB2 3.2.4.1.1, 3.3.4.1.1): 1 sign it,
 * 0 do not, E_UNSUPPORTED: it must be signed and there is no key: do not send it. What has no key yet and needs none is
 * 0: a client's first SESSION_SETUP requests, a server's answers without a session and its errors. A CANCEL with
 * MessageId 0 counts as signable; if the key is AES-GMAC's, sign refuses it: send it with its request's MessageId.
 * E_MESSAGE: not an SMB2 header, or one whose direction is not the role's. E_INVAL: another role, NULL, an unknown
 * state bit.
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_send_policy(unsigned role, const void *hdr, unsigned state);

/*
 * 1 if the response is what a server answers that has no session to sign with: the request's Command and MessageId, an
 * error Status (severity 3: the two high bits set), and a Signature that is zero or the request's own, copied. Such a
 * response cannot verify and is worth its Status at most. Else 0 (NULL and headers that are not a response and a
 * request too).
 */
SMB3SIGN_API int smb3sign_is_echo(const void *response_hdr, const void *request_hdr);

/* ---- Guard against a second message under one GMAC nonce -------------------------------------------------------- */

/*
 * AES-GMAC's nonce is MessageId, direction and whether it is a CANCEL. Two different messages under one nonce and key
 * tell an eavesdropper enough to forge any third (SP 800-38D, appendix A), so a sender with a bug of its own in
 * MessageIds can keep a guard beside each key, one for each direction it sends in, and claim every message's nonce
 * immediately before signing it. Any number of threads may call claim, hold and drop on one guard at once; none of them
 * locks or waits.
 *
 * A guard has places for window / 4 MessageIds, each shared by all that agree modulo their number. A claim or hold of
 * an id makes those of its place lose theirs that are the window or more below: ids less than the window below the
 * highest have theirs, in whatever order they come. Make the window as wide as the credits outstanding at most (Samba,
 * Windows: 8192). An id that has lost its place is refused, unless it is held: hold every request whose answer may come
 * late (all that go async, slow ones too) when its interim response is sent or seen. A held id stays claimable, once as
 * an ordinary message and once as a CANCEL, until it is dropped, however many others pass. A stray id costs only the
 * ids of its own place. Verification needs no guard: it is free to repeat. Not for the requests of a bind: the protocol
 * itself repeats low ids there under the session's key.
 */
typedef struct smb3sign_guard smb3sign_guard;

/*
 * window: MessageIds, 1 .. 1048576; rounded up to a power of two, 256 at least. At most `window` ids are held at once,
 * and at most 4096 (Samba and Windows allow 512 asynchronous requests). An id of 2^38 times the window or more (2^51 at
 * 8192: no connection gets there) is refused. Memory: 2 bytes for each id of the window and 8 for each that can be held,
 * which are not used before one is, and at most 64 more; at 8192, 48 KiB. E_INVAL: g NULL, a window out of range.
 * E_NOMEM. E_UNSUPPORTED: the processor has no 64-bit compare-and-swap. *g is written on success only.
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_guard_new(smb3sign_guard **g, size_t window);

/* NULL is fine. No other call may be under way. */
SMB3SIGN_API void smb3sign_guard_free(smb3sign_guard *g);

/*
 * Take the nonce of this message: OK to exactly one caller, E_NONCE to every other, for an id that was dropped, and for
 * one that has lost its place and is not held. A claim is for good: a sign that fails afterwards, or a message that is
 * not sent, leaves it spent. Claim nothing that is not signed: an interim response would spend the nonce of the final
 * one. E_MESSAGE: not an SMB2 header. E_INVAL: NULL.
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_guard_claim(smb3sign_guard *g, const void *hdr);

/*
 * Keep this message's MessageId claimable when it loses its place. hdr: the request or its interim response. Holding it
 * again is OK and changes nothing. E_NONCE: the id has lost its place, was dropped before, is just being held by another
 * thread, or is too high; as many are held already as can be (the id takes its place all the same). E_MESSAGE, E_INVAL
 * as for claim.
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_guard_hold(smb3sign_guard *g, const void *hdr);

/* The request of this held MessageId is finished: nothing more can be claimed. An id not held: nothing happens. */
SMB3SIGN_API void smb3sign_guard_drop(smb3sign_guard *g, const void *hdr);

/* ---- The library itself ---------------------------------------------------------------------------------------- */

/*
 * Known answers through every kernel this machine can run (of the override's choice), in well under a millisecond.
 * OK or E_SIGNATURE.
 */
SMB3SIGN_API SMB3SIGN_MUST_CHECK int smb3sign_selftest(void);

/*
 * Several lines of text for a person: processor features seen, kernels available and left out, override in force.
 * Static memory.
 *
 * The environment variable SMB3SIGN_CPU_DISABLE holds processor features to do without, as "sha,pclmul", or "all". It
 * can only remove features (every fallback is constant-time), is read once, and not at all in a set-user-ID program.
 */
SMB3SIGN_API const char *smb3sign_cpu(void);

#ifdef __cplusplus
}
#endif
#endif
