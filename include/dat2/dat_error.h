/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * DAT 2.0: what calls return. A DAT_RETURN is class (2 bits), type (14 bits) and subtype (16
 * bits); the subtype names the argument, handle, resource or state that was at fault.
 */
#ifndef _DAT_ERROR_H_
#define _DAT_ERROR_H_

#include <dat2/dat_platform_specific.h>

typedef DAT_UINT32 DAT_RETURN;

#define DAT_CLASS_ERROR 0x80000000
#define DAT_CLASS_WARNING 0x40000000
#define DAT_CLASS_SUCCESS 0x00000000
#define DAT_TYPE_MASK 0x3fff0000
#define DAT_SUBTYPE_MASK 0x0000FFFF

#define DAT_IS_WARNING(status) ((DAT_UINT32)(status) & DAT_CLASS_WARNING)
#define DAT_GET_TYPE(status) ((DAT_UINT32)(status) & DAT_TYPE_MASK)
#define DAT_GET_SUBTYPE(status) ((DAT_UINT32)(status) & DAT_SUBTYPE_MASK)
/* Token for token as programs define it that were written before headers did, so that both definitions
 * stand together. Hence no parentheses: an argument must be a name, or have its own. */
#define DAT_ERROR(Type, SubType) ((DAT_RETURN)(DAT_CLASS_ERROR | Type | SubType))

typedef enum dat_return_type {
	DAT_SUCCESS                     = 0x00000000,
	DAT_ABORT                       = 0x00010000,
	DAT_CONN_QUAL_IN_USE            = 0x00020000,
	DAT_INSUFFICIENT_RESOURCES      = 0x00030000,
	DAT_INTERNAL_ERROR              = 0x00040000,
	DAT_INVALID_HANDLE              = 0x00050000,
	DAT_INVALID_PARAMETER           = 0x00060000,
	DAT_INVALID_STATE               = 0x00070000,
	DAT_LENGTH_ERROR                = 0x00080000,
	DAT_MODEL_NOT_SUPPORTED         = 0x00090000,
	DAT_PROVIDER_NOT_FOUND          = 0x000a0000,
	DAT_PRIVILEGES_VIOLATION        = 0x000b0000,
	DAT_PROTECTION_VIOLATION        = 0x000c0000,
	DAT_QUEUE_EMPTY                 = 0x000d0000,
	DAT_QUEUE_FULL                  = 0x000e0000,
	DAT_TIMEOUT_EXPIRED             = 0x000f0000,
	DAT_PROVIDER_ALREADY_REGISTERED = 0x00100000,
	DAT_PROVIDER_IN_USE             = 0x00110000,
	DAT_INVALID_ADDRESS             = 0x00120000,
	DAT_INTERRUPTED_CALL            = 0x00130000,
	DAT_CONN_QUAL_UNAVAILABLE       = 0x00140000,
	DAT_RESERVED_LMR                = 0x00150000,
	DAT_PORT_IN_USE                 = 0x00160000,
	DAT_COMM_NOT_SUPPORTED          = 0x00170000,
	DAT_EXTENSION_BASE              = 0x10000000,
	DAT_NOT_IMPLEMENTED             = 0x3fff0000,
} DAT_RETURN_TYPE;

typedef enum dat_return_subtype {
	DAT_NO_SUBTYPE                         = 0x0,
	DAT_SUB_INTERRUPTED                    = 0x1,
	DAT_RESOURCE_MEMORY                    = 0x2,
	DAT_RESOURCE_DEVICE                    = 0x3,
	DAT_RESOURCE_TEP                       = 0x4,
	DAT_RESOURCE_TEVD                      = 0x5,
	DAT_RESOURCE_PROTECTION_DOMAIN         = 0x6,
	DAT_RESOURCE_MEMORY_REGION             = 0x7,
	DAT_RESOURCE_ERROR_HANDLER             = 0x8,
	DAT_RESOURCE_CREDITS                   = 0x9,
	DAT_RESOURCE_SRQ                       = 0xa,
	DAT_INVALID_HANDLE_IA                  = 0xb,
	DAT_INVALID_HANDLE_EP                  = 0xc,
	DAT_INVALID_HANDLE_LMR                 = 0xd,
	DAT_INVALID_HANDLE_RMR                 = 0xe,
	DAT_INVALID_HANDLE_PZ                  = 0xf,
	DAT_INVALID_HANDLE_PSP                 = 0x10,
	DAT_INVALID_HANDLE_RSP                 = 0x11,
	DAT_INVALID_HANDLE_CR                  = 0x12,
	DAT_INVALID_HANDLE_CNO                 = 0x13,
	DAT_INVALID_HANDLE_EVD_CR              = 0x14,
	DAT_INVALID_HANDLE_EVD_REQUEST         = 0x15,
	DAT_INVALID_HANDLE_EVD_RECV            = 0x16,
	DAT_INVALID_HANDLE_EVD_CONN            = 0x17,
	DAT_INVALID_HANDLE_EVD_ASYNC           = 0x18,
	DAT_INVALID_HANDLE_SRQ                 = 0x19,
	DAT_INVALID_HANDLE_CSP                 = 0x1a,
	DAT_INVALID_HANDLE1                    = 0x1b,
	DAT_INVALID_HANDLE2                    = 0x1c,
	DAT_INVALID_HANDLE3                    = 0x1d,
	DAT_INVALID_HANDLE4                    = 0x1e,
	DAT_INVALID_HANDLE5                    = 0x1f,
	DAT_INVALID_HANDLE6                    = 0x20,
	DAT_INVALID_HANDLE7                    = 0x21,
	DAT_INVALID_HANDLE8                    = 0x22,
	DAT_INVALID_HANDLE9                    = 0x23,
	DAT_INVALID_HANDLE10                   = 0x24,
	DAT_INVALID_ARG1                       = 0x25,
	DAT_INVALID_ARG2                       = 0x26,
	DAT_INVALID_ARG3                       = 0x27,
	DAT_INVALID_ARG4                       = 0x28,
	DAT_INVALID_ARG5                       = 0x29,
	DAT_INVALID_ARG6                       = 0x2a,
	DAT_INVALID_ARG7                       = 0x2b,
	DAT_INVALID_ARG8                       = 0x2c,
	DAT_INVALID_ARG9                       = 0x2d,
	DAT_INVALID_ARG10                      = 0x2e,
	DAT_INVALID_STATE_EP_UNCONNECTED       = 0x2f,
	DAT_INVALID_STATE_EP_ACTCONNPENDING    = 0x30,
	DAT_INVALID_STATE_EP_PASSCONNPENDING   = 0x31,
	DAT_INVALID_STATE_EP_TENTCONNPENDING   = 0x32,
	DAT_INVALID_STATE_EP_CONNECTED         = 0x33,
	DAT_INVALID_STATE_EP_DISCONNECTED      = 0x34,
	DAT_INVALID_STATE_EP_RESERVED          = 0x35,
	DAT_INVALID_STATE_EP_COMPLPENDING      = 0x36,
	DAT_INVALID_STATE_EP_DISCPENDING       = 0x37,
	DAT_INVALID_STATE_EP_PROVIDERCONTROL   = 0x38,
	DAT_INVALID_STATE_EP_NOTREADY          = 0x39,
	DAT_INVALID_STATE_EP_RECV_WATERMARK    = 0x3a,
	DAT_INVALID_STATE_EP_PZ                = 0x3b,
	DAT_INVALID_STATE_EP_EVD_REQUEST       = 0x3c,
	DAT_INVALID_STATE_EP_EVD_RECV          = 0x3d,
	DAT_INVALID_STATE_EP_EVD_CONNECT       = 0x3e,
	DAT_INVALID_STATE_EP_UNCONFIGURED      = 0x3f,
	DAT_INVALID_STATE_EP_UNCONFRESERVED    = 0x40,
	DAT_INVALID_STATE_EP_UNCONFPASSIVE     = 0x41,
	DAT_INVALID_STATE_EP_UNCONFTENTATIVE   = 0x42,
	DAT_INVALID_STATE_CNO_IN_USE           = 0x43,
	DAT_INVALID_STATE_CNO_DEAD             = 0x44,
	DAT_INVALID_STATE_EVD_OPEN             = 0x45,
	DAT_INVALID_STATE_EVD_ENABLED          = 0x46,
	DAT_INVALID_STATE_EVD_DISABLED         = 0x47,
	DAT_INVALID_STATE_EVD_WAITABLE         = 0x48,
	DAT_INVALID_STATE_EVD_UNWAITABLE       = 0x49,
	DAT_INVALID_STATE_EVD_IN_USE           = 0x4a,
	DAT_INVALID_STATE_EVD_CONFIG_NOTIFY    = 0x4b,
	DAT_INVALID_STATE_EVD_CONFIG_SOLICITED = 0x4c,
	DAT_INVALID_STATE_EVD_CONFIG_THRESHOLD = 0x4d,
	DAT_INVALID_STATE_EVD_WAITER           = 0x4e,
	DAT_INVALID_STATE_EVD_ASYNC            = 0x4f,
	DAT_INVALID_STATE_IA_IN_USE            = 0x50,
	DAT_INVALID_STATE_LMR_IN_USE           = 0x51,
	DAT_INVALID_STATE_LMR_FREE             = 0x52,
	DAT_INVALID_STATE_PZ_IN_USE            = 0x53,
	DAT_INVALID_STATE_PZ_FREE              = 0x54,
	DAT_INVALID_STATE_SRQ_OPERATIONAL      = 0x55,
	DAT_INVALID_STATE_SRQ_ERROR            = 0x56,
	DAT_INVALID_STATE_SRQ_IN_USE           = 0x57,
	DAT_INVALID_STATE_SRQ_SHUTDOWN         = 0x58,
	DAT_PRIVILEGES_READ                    = 0x59,
	DAT_PRIVILEGES_WRITE                   = 0x5a,
	DAT_PRIVILEGES_RDMA_READ               = 0x5b,
	DAT_PRIVILEGES_RDMA_WRITE              = 0x5c,
	DAT_PROTECTION_READ                    = 0x5d,
	DAT_PROTECTION_WRITE                   = 0x5e,
	DAT_PROTECTION_RDMA_READ               = 0x5f,
	DAT_PROTECTION_RDMA_WRITE              = 0x60,
	DAT_INVALID_ADDRESS_UNSUPPORTED        = 0x61,
	DAT_INVALID_ADDRESS_UNREACHABLE        = 0x62,
	DAT_INVALID_ADDRESS_MALFORMED          = 0x63,
	DAT_NAME_NOT_REGISTERED                = 0x64,
	DAT_MAJOR_NOT_FOUND                    = 0x65,
	DAT_MINOR_NOT_FOUND                    = 0x66,
	DAT_THREAD_SAFETY_NOT_FOUND            = 0x67,
} DAT_RETURN_SUBTYPE;

/* The name of DAT 1.0. */
#define DAT_NAME_NOT_FOUND DAT_PROVIDER_NOT_FOUND

#endif
