-- Finds checkpoints that are in all of some lists.
-- ARGV: thread or '', '1' for the last first, two bounds, how many to return, how many to
-- look at, lists.
-- Returns the last member looked at, or '' if there are no more, and for each found
-- order key, sequence, thread, entry.
local call, sub, P, thread = redis.call, string.sub, KEYS[1], ARGV[1]
local wanted, most = tonumber(ARGV[5]), tonumber(ARGV[6])
local key, from = P .. 'o', 7
if thread ~= '' then
	key = P .. 'c:' .. thread
elseif #ARGV >= from then -- the shortest
	local shortest
	for i = from, #ARGV do
		local n = call('ZCARD', P .. 'l:' .. ARGV[i])
		if not shortest or n < shortest then key, shortest = P .. 'l:' .. ARGV[i], n end
	end
end
local members
if ARGV[2] == '1' then
	members = call('ZREVRANGEBYLEX', key, ARGV[4], ARGV[3], 'LIMIT', 0, most)
else
	members = call('ZRANGEBYLEX', key, ARGV[3], ARGV[4], 'LIMIT', 0, most)
end
local found, last, size = {''}, '', 0
for n, m in ipairs(members) do
	local order, seq, name
	if thread ~= '' then
		seq, order, name = sub(m, 1, 8), sub(m, 9), thread
	else
		order, seq, name = sub(m, 1, 16), sub(m, 17, 24), sub(m, 25)
	end
	local all = true
	for i = from, #ARGV do
		local list = P .. 'l:' .. ARGV[i]
		if list ~= key and not call('ZSCORE', list, order .. seq .. name) then
			all = false
			break
		end
	end
	if all then
		local e = call('HGET', P .. 'e:' .. name, seq) or ''
		local at = #found
		found[at + 1], found[at + 2], found[at + 3], found[at + 4] = order, seq, name, e
		size = size + #e
		wanted = wanted - 1
	end
	if wanted == 0 or size > 1048576 or n == most then
		last = m
		break
	end
end
found[1] = last
return found
