-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
--
-- Names for captures of dapple: fields for what its comments say, which columns and filters take, and the reasons of a REJ,
-- for which the dissector has numbers alone.
--
--      tshark -X lua_script:dapple.lua -r ring.pcapng -Y 'dapple.way == "ring"' -T fields -e dapple.from -e dapple.to
--      wireshark -X lua_script:dapple.lua ring.pcapng
--
-- In ~/.local/lib/wireshark/plugins it is loaded each time.

local dapple = Proto("dapple", "Dapple")

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
}
dapple.fields = { fields.way, fields.program, fields.pid, fields.from, fields.to, fields.receiver, fields.receiver_pid, fields.late,
	fields.note, fields.reason }

local comment_field = Field.new("frame.comment")
local reason_field = Field.new("infiniband.cm.rej.reason")

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

function dapple.dissector(tvb, pinfo, tree)
	local comment, reason = comment_field(), reason_field()
	local got = comment and read(tostring(comment.value))
	local name = reason and (reasons[reason.value] or "reason " .. tostring(reason.value))

	if not got and not name then
		return
	end
	local branch = tree:add(dapple, tvb(0, 0))
	if got then
		add_comment(branch, pinfo, got)
	end
	if name then
		branch:add(fields.reason, name):set_generated()
		pinfo.cols.info:append(": " .. name)
	end
end

register_postdissector(dapple, true)
