-- Lists threads by name. ARGV: list, '1' for the last first, two bounds, how many.
-- Returns name and record of each.
local call, P, names = redis.call, KEYS[1], nil
if ARGV[2] == '1' then
	names = call('ZREVRANGEBYLEX', P .. ARGV[1], ARGV[4], ARGV[3], 'LIMIT', 0, ARGV[5])
else
	names = call('ZRANGEBYLEX', P .. ARGV[1], ARGV[3], ARGV[4], 'LIMIT', 0, ARGV[5])
end
local found = {}
for _, name in ipairs(names) do
	found[#found + 1] = name
	found[#found + 1] = call('GET', P .. 't:' .. name) or ''
end
return found
