-- Writes a slot if it is as it was read.
-- ARGV: thread, step, the slot as it was or '', as it is to be.
local key = KEYS[1] .. 'slots:' .. ARGV[1]
if (redis.call('HGET', key, ARGV[2]) or '') ~= ARGV[3] then return 0 end
redis.call('HSET', key, ARGV[2], ARGV[4])
redis.call('ZADD', KEYS[1] .. 'slotted', 0, ARGV[1])
return 1
