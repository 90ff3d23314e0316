// SPDX-License-Identifier: MIT

// The library from Go, by cgo: a sketch.
//
//	sign sign|verify hmac|cmac|gmac SIGNING_KEY < frames
//
// A frame is a transport prefix of 4 bytes and one message. `sign` writes the frames signed; `verify` prints a line for
// each. Exit status: 0 all are right, 1 some are not.
//
// Only the calls for contiguous messages are used. smb3sign_sign takes an array of pointers, and Go memory that holds Go
// pointers must not be handed to C (see "Passing pointers" in cgo's documentation): its segments would have to be pinned,
// or be C's.
package main

/*
#cgo LDFLAGS: -lsmb3sign
#include <smb3sign.h>
*/
import "C"

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"os"
	"unsafe"
)

// Error is a result other than 0.
type Error C.int

func (e Error) Error() string {
	return C.GoString(C.smb3sign_strerror(C.int(e)))
}

func check(code C.int) error {
	if code != C.SMB3SIGN_OK {
		return Error(code)
	}
	return nil
}

// pointer to the bytes, which hold no pointers themselves: C may have it for as long as the call lasts.
func pointer(bytes []byte) unsafe.Pointer {
	if len(bytes) == 0 {
		return nil
	}
	return unsafe.Pointer(&bytes[0])
}

// Key may be used by any number of goroutines at once, until it is freed.
type Key struct {
	key *C.smb3sign_key
}

// NewKey makes a key of raw. The caller frees it.
func NewKey(alg uint, raw []byte, role uint) (*Key, error) {
	k := new(Key)
	err := check(C.smb3sign_key_new(&k.key, C.uint(alg), pointer(raw), C.size_t(len(raw)), C.uint(role)))
	if err != nil {
		return nil, err
	}
	return k, nil
}

// Free wipes the key.
func (k *Key) Free() {
	C.smb3sign_key_free(k.key)
	k.key = nil // which the library refuses
}

// Sign signs a message, header and body, in place.
func (k *Key) Sign(msg []byte) error {
	return check(C.smb3sign_sign_buf(k.key, pointer(msg), C.size_t(len(msg))))
}

// Verify returns nil if and only if the signature of msg is right.
func (k *Key) Verify(msg []byte) error {
	return check(C.smb3sign_verify_buf(k.key, pointer(msg), C.size_t(len(msg))))
}

func readFrame(r io.Reader) ([]byte, error) {
	var prefix [4]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, err // io.EOF if there is nothing more
	}
	length := binary.BigEndian.Uint32(prefix[:])
	if length > 1<<24-1 {
		return nil, fmt.Errorf("not a transport prefix")
	}
	msg := make([]byte, length)
	if _, err := io.ReadFull(r, msg); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return msg, nil
}

func signFrame(key *Key, msg []byte, out io.Writer) error {
	if err := key.Sign(msg); err != nil {
		return err
	}
	if err := binary.Write(out, binary.BigEndian, uint32(len(msg))); err != nil {
		return err
	}
	_, err := out.Write(msg)
	return err
}

func verifyFrame(key *Key, msg []byte, out io.Writer) bool {
	id, verdict := uint64(0), "success"
	err := key.Verify(msg)
	if err != nil {
		verdict = err.Error()
	}
	if len(msg) >= C.SMB3SIGN_HEADER_LEN {
		id = binary.LittleEndian.Uint64(msg[24:])
	}
	fmt.Fprintf(out, "%d: %s\n", id, verdict)
	return err == nil
}

func arguments() (sign bool, key *Key) {
	algs := map[string]uint{"hmac": C.SMB3SIGN_HMAC_SHA256, "cmac": C.SMB3SIGN_AES_CMAC, "gmac": C.SMB3SIGN_AES_GMAC}
	if len(os.Args) != 4 || os.Args[1] != "sign" && os.Args[1] != "verify" {
		log.Fatal("arguments: sign|verify hmac|cmac|gmac SIGNING_KEY")
	}
	sign = os.Args[1] == "sign"
	alg, known := algs[os.Args[2]]
	raw, err := hex.DecodeString(os.Args[3])
	if !known || err != nil {
		log.Fatal("no such algorithm, or not hex digits")
	}
	role := uint(C.SMB3SIGN_ROLE_CLIENT)
	if sign {
		role = C.SMB3SIGN_ROLE_SERVER
	}
	if key, err = NewKey(alg, raw, role); err != nil {
		log.Fatal(err)
	}
	return sign, key
}

func main() {
	sign, key := arguments()
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	right := true
	for {
		msg, err := readFrame(in)
		if err == io.EOF {
			break
		}
		if err == nil && sign {
			err = signFrame(key, msg, out)
		} else if err == nil {
			right = verifyFrame(key, msg, out) && right
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	key.Free()
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
	if !right {
		os.Exit(1)
	}
}
