-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
--
-- Names for captures of dapple: fields for what its comments say, which columns and filters take, the reasons of a REJ,
-- for which the dissector has numbers alone, and the headers of an FPDU whose payload was not recorded, which it leaves out.
--
--      tshark -X lua_script:dapple.lua -r ring.pcapng -Y 'dapple.way == "ring"' -T fields -e dapple.from -e dapple.to
--      wireshark -X lua_script:dapple.lua ring.pcapng
--
-- In ~/.local/lib/wireshark/plugins it is loaded each time.

local dapple = Proto("dapple", "Dapple")

-- RFC 5040 table 2, RFC 7306 section 3.
local operations = {
	[0] = "RDMA Write", "RDMA Read Request", "RDMA Read Response", "Send", "Send with Invalidate", "Send with Solicited Event",
	"Send with Solicited Event and Invalidate", "Terminate", "Immediate Data", "Immediate Data with Solicited Event",
	"Atomic Request", "Atomic Response",
}

local fields = {
	way = ProtoField.string("dapple.way", "Way"),
	program = ProtoField.string("dapple.program", "Program"),
	pid = ProtoField.uint32("dapple.pid", "Process"),
	from = ProtoField.uint32("dapple.from", "Queue pair", base.HEX),
	to = ProtoField.uint32("dapple.to", "Queue pair of the peer", base.HEX),
	receiver = ProtoField.string("dapple.receiver", "Receiver"),
	receiver_pid = ProtoField.uint32("dapple.receiver_pid", "Process of the receiver"),
	late = ProtoField.double("dapple.late_us", "Received later by microseconds"),
	note = ProtoField.string("dapple.note", "Note"),
	reason = ProtoField.string("dapple.reject", "Reason"),
	opcode = ProtoField.uint8("dapple.rdmap.opcode", "RDMAP opcode", base.DEC, operations),
	last = ProtoField.bool("dapple.ddp.last", "Last DDP segment"),
	stag = ProtoField.uint32("dapple.ddp.stag", "STag", base.HEX),
	offset = ProtoField.uint64("dapple.ddp.tagged_offset", "Tagged offset", base.HEX),
	queue = ProtoField.uint32("dapple.ddp.qn", "Queue number"),
	msn = ProtoField.uint32("dapple.ddp.msn", "Message sequence number"),
	mo = ProtoField.uint32("dapple.ddp.mo", "Message offset"),
}
dapple.fields = { fields.way, fields.program, fields.pid, fields.from, fields.to, fields.receiver, fields.receiver_pid, fields.late,
	fields.note, fields.reason, fields.opcode, fields.last, fields.stag, fields.offset, fields.queue, fields.msn, fields.mo }

local comment_field = Field.new("frame.comment")
local reason_field = Field.new("infiniband.cm.rej.reason")
local ulpdu_field = Field.new("iwarp_mpa.ulpdulength")
local dissected_field = Field.new("iwarp_rdma.opcode")

-- IBTA table 107 (12.6.7.2).
local reasons = {
	"no queue pair available", "no EE context available", "no resources available", "timeout", "unsupported request",
	"invalid communication ID", "invalid communication instance", "invalid service ID", "invalid transport service type",
	"stale connection", "RDC does not exist", "primary remote port GID rejected", "primary remote port LID rejected",
	"invalid primary SL", "invalid primary traffic class", "invalid primary hop limit", "invalid primary packet rate",
	"alternate remote port GID rejected", "alternate remote port LID rejected", "invalid alternate SL",
	"invalid alternate traffic class", "invalid alternate hop limit", "invalid alternate packet rate",
	"port and CM redirection", "port redirection", "invalid path MTU", "insufficient responder resources", "consumer reject",
	"RNR retry count reject", "duplicate local communication ID", "invalid class version", "invalid primary flow label",
	"invalid alternate flow label",
}

-- "by shared memory (WAY), PROGRAM[PID] QP 0xN to QP 0xN, received N us later by PROGRAM[PID]; NOTE"
local function read(text)
	local got = {}
	local said = text

	got.note = said:match("; (.+)$")
	said = said:gsub("; .+$", "")
	got.way = said:match("^by shared memory %((%a+)%)")
	got.late, got.receiver, got.receiver_pid = said:match(", received (-?[%d.]+) us later by (.-)%[(%d+)%]$")
	said = said:gsub("^by shared memory %(%a+%), ", ""):gsub(", received .+$", "")
	got.program, got.pid = said:match("^(.-)%[(%d+)%]")
	if not got.program then
		return nil
	end
	got.way = got.way or "wire"
	got.from = said:match("%] QP (0x%x+)")
	got.to = said:match(" to QP (0x%x+)")
	return got
end

local function add_comment(tree, pinfo, got)
	local numbers = { pid = true, from = true, to = true, receiver_pid = true, late = true }

	for _, name in ipairs({ "way", "program", "pid", "from", "to", "receiver", "receiver_pid", "late", "note" }) do
		local value = got[name]

		if value then
			tree:add(fields[name], numbers[name] and tonumber(value) or value):set_generated()
		end
	end
	pinfo.cols.info:append(string.format(" [%s, %s]", got.receiver and got.program .. " to " .. got.receiver or got.program, got.way))
end

-- RFC 5041 figures 2 and 3, RFC 5040 figure 3: the place of a DDP header behind the ULPDU length of an FPDU that tshark calls
-- cut. Nothing if the header is cut too, or a marker stands in it.
local function cut_header(tvb)
	local length = not dissected_field() and ulpdu_field()

	if not length or length.offset + 16 > tvb:captured_len() then
		return nil
	end
	local at = length.offset + 2
	local ddp, rdmap = tvb(at, 1):uint(), tvb(at + 1, 1):uint()
	if ddp % 4 ~= 1 or math.floor(rdmap / 64) ~= 1 or not operations[rdmap % 16] or
		at + (ddp >= 128 and 14 or 18) > tvb:captured_len() then
		return nil
	end
	return at
end

local function add_header(tree, tvb, pinfo, at)
	local control, opcode = tvb(at, 1):uint(), tvb(at + 1, 1):uint() % 16
	local last = math.floor(control / 64) % 2 == 1

	tree:add(fields.opcode, tvb(at + 1, 1), opcode)
	tree:add(fields.last, tvb(at, 1), last)
	if control >= 128 then
		tree:add(fields.stag, tvb(at + 2, 4))
		tree:add(fields.offset, tvb(at + 6, 8))
	else
		tree:add(fields.queue, tvb(at + 6, 4))
		tree:add(fields.msn, tvb(at + 10, 4))
		tree:add(fields.mo, tvb(at + 14, 4))
	end
	pinfo.cols.info:append(string.format(": %s [%s DDP segment]", operations[opcode], last and "last" or "more"))
end

function dapple.dissector(tvb, pinfo, tree)
	local comment, reason = comment_field(), reason_field()
	local got = comment and read(tostring(comment.value))
	local name = reason and (reasons[reason.value] or "reason " .. tostring(reason.value))
	local cut = cut_header(tvb)

	if not got and not name and not cut then
		return
	end
	local branch = tree:add(dapple, tvb(0, 0))
	if got then
		add_comment(branch, pinfo, got)
	end
	if cut then
		add_header(branch, tvb, pinfo, cut)
	end
	if name then
		branch:add(fields.reason, name):set_generated()
		pinfo.cols.info:append(": " .. name)
	end
end

register_postdissector(dapple, true)
