/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Device management, field by field: its attributes, which begin at byte 64 of a MAD (IBTA vol 1, 16.3). The header of the MAD
 * is in cm_fields.h.
 */
#ifndef WIRE_DM_FIELDS_H
#define WIRE_DM_FIELDS_H

#include "wire/field.h"

/* IOUnitInfo: 16.3.3.3. Each slot has a nibble of the list, the first one the upper half of its first octet.
 *	header field                         byte bit width */
#define WIRE_IO_UNIT_FIELDS(F, B)                                                              \
	F(IO_UNIT, change_id,                0, 0, 16)                                         \
	F(IO_UNIT, max_controllers,          2, 0,  8)                                         \
	F(IO_UNIT, rsv3,                     3, 0,  6)                                         \
	F(IO_UNIT, diag_device,              3, 6,  1)                                         \
	F(IO_UNIT, option_rom,               3, 7,  1)                                         \
	B(IO_UNIT, controllers,              4, 128)

/* IOControllerProfile: 16.3.3.4. */
#define WIRE_IOC_FIELDS(F, B)                                                                  \
	F(IOC, guid,                         0, 0, 64)                                         \
	F(IOC, vendor_id,                    8, 0, 24)                                         \
	F(IOC, rsv11,                       11, 0,  8)                                         \
	F(IOC, device_id,                   12, 0, 32)                                         \
	F(IOC, device_version,              16, 0, 16)                                         \
	F(IOC, rsv18,                       18, 0, 16)                                         \
	F(IOC, subsystem_vendor_id,         20, 0, 24)                                         \
	F(IOC, rsv23,                       23, 0,  8)                                         \
	F(IOC, subsystem_id,                24, 0, 32)                                         \
	F(IOC, io_class,                    28, 0, 16)                                         \
	F(IOC, io_subclass,                 30, 0, 16)                                         \
	F(IOC, protocol,                    32, 0, 16)                                         \
	F(IOC, protocol_version,            34, 0, 16)                                         \
	F(IOC, rsv36,                       36, 0, 32)                                         \
	F(IOC, send_depth,                  40, 0, 16)                                         \
	F(IOC, rsv42,                       42, 0,  8)                                         \
	F(IOC, read_depth,                  43, 0,  8)                                         \
	F(IOC, send_size,                   44, 0, 32)                                         \
	F(IOC, transfer_size,               48, 0, 32)                                         \
	F(IOC, operations,                  52, 0,  8)                                         \
	F(IOC, rsv53,                       53, 0,  8)                                         \
	F(IOC, services,                    54, 0,  8)                                         \
	B(IOC, rsv55,                       55,  9)                                            \
	B(IOC, id_string,                   64, 64)

/* One of the four entries of ServiceEntries: 16.3.3.5. */
#define WIRE_SERVICE_ENTRY_FIELDS(F, B)                                                        \
	B(SERVICE_ENTRY, name,               0, 40)                                            \
	F(SERVICE_ENTRY, id,                40, 0, 64)

WIRE_IO_UNIT_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_IOC_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_SERVICE_ENTRY_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)

enum {
	WIRE_DM_CLASS = 0x06,
	WIRE_DM_DATA = 64,                      /* octets before the attribute */
	WIRE_IO_UNIT_LEN = 132,
	WIRE_IOC_LEN = 128,
	WIRE_SERVICE_ENTRY_LEN = 48,
	WIRE_SERVICE_ENTRIES = 4,               /* of one MAD */
};

/* Attributes: 16.3.3, table 294. */
enum { WIRE_DM_CLASS_PORT_INFO = 0x0001, WIRE_DM_IO_UNIT = 0x0010, WIRE_DM_IOC = 0x0011, WIRE_DM_SERVICES = 0x0012 };

/* What a slot of the controller list says: 16.3.3.3. */
enum { WIRE_DM_NO_CONTROLLER = 0, WIRE_DM_CONTROLLER = 1, WIRE_DM_NO_SLOT = 15 };

/* Operations of a controller: 16.3.3.4. */
enum { WIRE_DM_SEND_TO = 0x01, WIRE_DM_SEND_FROM = 0x02, WIRE_DM_READ_FROM = 0x08, WIRE_DM_WRITE_FROM = 0x20 };

/* SRP, annex B.6: the I/O class of revision 16a, the subclass of a storage controller, the protocol, and the beginning of the
 * names of its services, behind which there is the extension of a target port in hexadecimal digits. */
#define WIRE_SRP_SERVICE "SRP.T10:"
enum { WIRE_SRP_IO_CLASS = 0x0100, WIRE_SRP_IO_CLASS_OLD = 0xff00, WIRE_SRP_IO_SUBCLASS = 0x609e, WIRE_SRP_PROTOCOL = 0x0108 };

#endif
