/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of classes, methods, attributes and statuses: the words of the
 * distribution's library, since diagnostics print them. */
#include <infiniband/umad_str.h>

#include "util/export.h"

#include <endian.h>
#include <infiniband/umad_types.h>
#include <stddef.h>

struct name {
	uint16_t value;
	const char *text;
};

#define LOOK_UP(table, value) look_up(table, sizeof(table) / sizeof((table)[0]), value)

static const char *look_up(const struct name *t, size_t n, uint16_t value)
{
	for (size_t i = 0; i < n; i++)
		if (t[i].value == value)
			return t[i].text;
	return NULL;
}

static const struct name classes[] = {
	{ 0x0001, "Subn" },
	{ 0x0003, "SubnAdm" },
	{ 0x0004, "Perf" },
	{ 0x0005, "BM" },
	{ 0x0006, "DevMgt" },
	{ 0x0007, "ComMgt" },
	{ 0x0008, "SNMP" },
	{ 0x0010, "DevAdm" },
	{ 0x0011, "BootMgt" },
	{ 0x0012, "BIS" },
	{ 0x0021, "CongestionManagment" },
	{ 0x0081, "Subn" },
};

static const struct name methods[] = {
	{ 0x0001, "Get" },
	{ 0x0002, "Set" },
	{ 0x0003, "Send" },
	{ 0x0005, "Trap" },
	{ 0x0006, "Report" },
	{ 0x0007, "TrapRepress" },
	{ 0x0081, "GetResp" },
	{ 0x0086, "ReportResp" },
};

static const struct name sa_methods[] = {
	{ 0x0012, "GetTable" },
	{ 0x0013, "GetTraceTable" },
	{ 0x0014, "GetMulti" },
	{ 0x0015, "Delete" },
	{ 0x0092, "GetTableResp" },
	{ 0x0094, "GetMultiResp" },
	{ 0x0095, "DeleteResp" },
};

static const struct name common_attributes[] = {
	{ 0x0001, "Class Port Info" },
	{ 0x0002, "Notice" },
	{ 0x0003, "Inform Info" },
};

static const struct name smp_attributes[] = {
	{ 0x0010, "NodeDescription" },
	{ 0x0011, "NodeInfo" },
	{ 0x0012, "SwitchInfo" },
	{ 0x0014, "GUIDInfo" },
	{ 0x0015, "PortInfo" },
	{ 0x0016, "P_KeyTable" },
	{ 0x0017, "SLtoVLMappingTable" },
	{ 0x0018, "VLArbitrationTable" },
	{ 0x0019, "LinearForwardingTable" },
	{ 0x001a, "RandomForwardingTable" },
	{ 0x001b, "MulticastForwardingTable" },
	{ 0x001c, "LinkSpeedWidthPairsTable" },
	{ 0x001d, "VendorSpecificMadsTable" },
	{ 0x001e, "HierarchyInfo" },
	{ 0x0020, "SMInfo" },
	{ 0x0030, "VendorDiag" },
	{ 0x0031, "LedInfo" },
	{ 0x0032, "CableInfo" },
	{ 0x0033, "PortInfoExtended" },
};

static const struct name sa_attributes[] = {
	{ 0x0011, "NodeRecord" },
	{ 0x0012, "PortInfoRecord" },
	{ 0x0013, "SLtoVLMappingTableRecord" },
	{ 0x0014, "SwitchInfoRecord" },
	{ 0x0015, "LinearForwardingTableRecord" },
	{ 0x0016, "RandomForwardingTableRecord" },
	{ 0x0017, "MulticastForwardingTableRecord" },
	{ 0x0018, "SMInfoRecord" },
	{ 0x0019, "LinkSpeedWidthPairsTableRecord" },
	{ 0x0020, "LinkRecord" },
	{ 0x0030, "GuidInfoRecord" },
	{ 0x0031, "ServiceRecord" },
	{ 0x0033, "P_KeyTableRecord" },
	{ 0x0035, "PathRecord" },
	{ 0x0036, "VLArbitrationTableRecord" },
	{ 0x0038, "MCMemberRecord" },
	{ 0x0039, "TraceRecord" },
	{ 0x003a, "MultiPathRecord" },
	{ 0x003b, "ServiceAssociationRecord" },
	{ 0x003c, "HierarchyInfoRecord" },
	{ 0x003d, "CableInfoRecord" },
	{ 0x003e, "PortInfoExtendedRecord" },
	{ 0x00f3, "InformInfoRecord" },
};

static const struct name cm_attributes[] = {
	{ 0x0010, "ConnectRequest" },
	{ 0x0011, "MsgRcptAck" },
	{ 0x0012, "ConnectReject" },
	{ 0x0013, "ConnectReply" },
	{ 0x0014, "ReadyToUse" },
	{ 0x0015, "DisconnectRequest" },
	{ 0x0016, "DisconnectReply" },
	{ 0x0017, "ServiceIDResReq" },
	{ 0x0018, "ServiceIDResReqResp" },
	{ 0x0019, "LoadAlternatePath" },
	{ 0x001a, "AlternatePathResponse" },
	{ 0x001b, "SuggestAlternatePath" },
	{ 0x001c, "SuggestPathResponse" },
};

static const struct name sa_statuses[] = {
	{ 0x0000, "Success" },
	{ 0x0100, "No Resources" },
	{ 0x0200, "Request Invalid" },
	{ 0x0300, "No Records" },
	{ 0x0400, "Too Many Records" },
	{ 0x0500, "Invalid GID" },
	{ 0x0600, "Insufficient Components" },
	{ 0x0700, "Request Denied" },
	{ 0x0800, "Priority Suggested" },
};

#define UNKNOWN "<unknown>"

UT_EXPORT const char *umad_class_str(uint8_t class)
{
	const char *s = LOOK_UP(classes, class);

	if (s)
		return s;
	if ((class >= UMAD_CLASS_VENDOR_RANGE1_START && class <= UMAD_CLASS_VENDOR_RANGE1_END) ||
	    (class >= UMAD_CLASS_VENDOR_RANGE2_START && class <= UMAD_CLASS_VENDOR_RANGE2_END))
		return "Vendor";
	if (class >= UMAD_CLASS_APPLICATION_START && class <= UMAD_CLASS_APPLICATION_END)
		return "Application";
	return UNKNOWN;
}

UT_EXPORT const char *umad_method_str(uint8_t class, uint8_t method)
{
	const char *s = LOOK_UP(methods, method);

	if (!s && class == UMAD_CLASS_SUBN_ADM)
		s = LOOK_UP(sa_methods, method);
	return s ? s : "<unknown"; /* without the bracket, as there */
}

UT_EXPORT const char *umad_attribute_str(uint8_t class, __be16 attr_id)
{
	uint16_t id = be16toh(attr_id);
	const char *s = LOOK_UP(common_attributes, id);

	if (s)
		return s;
	switch (class) {
	case UMAD_CLASS_SUBN_LID_ROUTED:
	case UMAD_CLASS_SUBN_DIRECTED_ROUTE:
		s = LOOK_UP(smp_attributes, id);
		break;
	case UMAD_CLASS_SUBN_ADM:
		s = LOOK_UP(sa_attributes, id);
		break;
	case UMAD_CLASS_CM:
		s = LOOK_UP(cm_attributes, id);
		break;
	}
	return s ? s : UNKNOWN;
}

UT_EXPORT const char *umad_common_mad_status_str(__be16 status)
{
	uint16_t s = be16toh(status);

	if (s & 0x01)
		return "Busy";
	if (s & 0x02)
		return "Redirection required";
	switch ((s >> 2) & 7) { /* the invalid-field code, bits 2 to 4 */
	case 1:
		return "Bad Version";
	case 2:
		return "Method not supported";
	case 3:
		return "Method/Attribute combo not supported";
	case 7:
		return "Invalid attribute/modifier field";
	default:
		return "Success";
	}
}

UT_EXPORT const char *umad_sa_mad_status_str(__be16 status)
{
	const char *s = LOOK_UP(sa_statuses, be16toh(status) & 0xff00);

	return s ? s : "Undefined Error";
}
