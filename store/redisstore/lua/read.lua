-- Reads entries of one thread, at most about a megabyte.
-- ARGV: thread, '1' with bodies, and '>' or '<', two bounds of sequences, how many; or
-- '=' and sequences.
-- Returns how many were looked at, 1 if there may be more, and for each that is there
-- sequence, entry, bodies.
local call, thread, order = redis.call, ARGV[1], ARGV[3]
local E, B, S = KEYS[1] .. 'e:' .. thread, KEYS[1] .. 'b:' .. thread, KEYS[1] .. 's:' .. thread
local seqs
if order == '>' then
	seqs = call('ZRANGEBYLEX', S, ARGV[4], ARGV[5], 'LIMIT', 0, ARGV[6])
elseif order == '<' then
	seqs = call('ZREVRANGEBYLEX', S, ARGV[5], ARGV[4], 'LIMIT', 0, ARGV[6])
else
	seqs = {}
	for i = 4, #ARGV do seqs[#seqs + 1] = ARGV[i] end
end
local found, size, looked = {0, 0}, 0, 0
for _, seq in ipairs(seqs) do
	if size > 1048576 then break end
	looked = looked + 1
	local e = call('HGET', E, seq) or ''
	if e ~= '' or order ~= '=' then
		local bodies = ARGV[2] == '1' and call('HGET', B, seq) or ''
		local at = #found
		found[at + 1], found[at + 2], found[at + 3] = seq, e, bodies
		size = size + #e + #bodies
	end
end
found[1] = looked
found[2] = (looked < #seqs or order ~= '=' and #seqs == tonumber(ARGV[6])) and 1 or 0
return found
