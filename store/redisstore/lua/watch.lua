-- Reads entries in the order of their commits, at most about a megabyte.
-- ARGV: the commit to continue behind, how many.
-- Returns for each commit, member (sequence, thread), entry, bodies.
local call, sub, P = redis.call, string.sub, KEYS[1]
local members = call('ZRANGEBYSCORE', P .. 'commits', '(' .. ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
local found, size = {}, 0
for i = 1, #members, 2 do
	if size > 1048576 then break end
	local seq, thread = sub(members[i], 1, 8), sub(members[i], 9)
	local e, bodies = call('HGET', P .. 'e:' .. thread, seq) or '', call('HGET', P .. 'b:' .. thread, seq) or ''
	local at = #found
	found[at + 1], found[at + 2], found[at + 3], found[at + 4] = members[i + 1], members[i], e, bodies
	size = size + #e + #bodies
end
return found
