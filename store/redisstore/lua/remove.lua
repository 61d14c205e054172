-- Removes entries of one thread and the ids that lead to them, a number at a time.
-- ARGV: thread, the first sequence (8 bytes), the one behind the last (8) or '' for all
-- of the thread, and how many.
-- Returns the entries, bodies and bytes that were removed, and 1 if there may be more.
local thread, from, below, limit = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local I, E, B, S = P .. 'i', P .. 'e:' .. thread, P .. 'b:' .. thread, P .. 's:' .. thread
local entries, bodies, bytes = 0, 0, 0

local function u32(s, at)
	local a, b, c, d = byte(s, at, at + 3)
	return ((a * 256 + b) * 256 + c) * 256 + d
end

local seqs = call('ZRANGEBYLEX', S, '[' .. from, below == '' and '+' or '(' .. below, 'LIMIT', 0, limit)
for _, seq in ipairs(seqs) do
	local e = call('HGET', E, seq)
	if e then
		-- hash (32), bodies left (4), bytes of header and signature (4), bytes of ids (4), ids
		entries, bodies, bytes = entries + 1, bodies + u32(e, 33), bytes + u32(e, 37) + call('HSTRLEN', B, seq)
		for id in string.gmatch(sub(e, 45, 44 + u32(e, 41)), '%S+') do
			local place = call('HGET', I, id)
			if place and sub(place, 1, 8) == seq and owner(place) == thread then unindex(id, place) end
		end
		call('HDEL', E, seq)
		call('HDEL', B, seq)
	end
	call('ZREM', S, seq)
	call('ZREM', P .. 'commits', seq .. thread)
end
local more = #seqs == limit and 1 or 0
if below == '' and more == 0 then
	local record = call('GET', P .. 't:' .. thread)
	if record then summarise(thread, record, '', '') end
	call('DEL', P .. 'slots:' .. thread)
	call('ZREM', P .. 'slotted', thread)
end
return {entries, bodies, bytes, more}
