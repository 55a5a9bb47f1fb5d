/** Lowers what is used of a window, if it is still counted. To be embedded. */
const GIVE = `
local function give(key, share)
	local used = tonumber(redis.call('GET', key) or '0')
	if used > 0 then redis.call('DECRBY', key, math.min(used, share)) end
end`;

/** So many requests of a config may find too little room in a window before nothing more is asked of it. */
export const MISFITS_MOST = 100;

/**
 * Takes room in rate windows, in one step that nothing comes between. ARGV: whoever takes, and the name of this take (empty: none is kept); then five values for each request: `{owner}:{config}`, the
 * channel, the cost, and the limits of a minute and of a day (0: none). Answers the numbers of the minute and of the day since 1970, then for each request `false`, or which window has too little
 * room, the milliseconds until it opens, and 1 when it is full for everybody. The windows are Redis' own minutes and UTC days, whatever the clocks of the callers say.
 * What a take of the same name took before is given back first: its answer was lost. Something is written in any case, so that a Redis that takes no writes is seen by who has no window, too.
 * Every key lives a little longer than its window.
 */
export const TAKE_WINDOWS = `${GIVE}
local now = redis.call('TIME')
local seconds = tonumber(now[1])
local ms = seconds * 1000 + math.floor(tonumber(now[2]) / 1000)
local windows = { { name = 'min', length = 60 }, { name = 'daily', length = 86400 } }
local answers = {}
for n, window in ipairs(windows) do
	window.number = string.format('%d', math.floor(seconds / window.length))
	window.opens = (tonumber(window.number) + 1) * window.length * 1000 - ms
	answers[n] = tonumber(window.number)
end
redis.call('SET', 'rl:alive', '1', 'PX', 60000)
local kept = 'rl:take:' .. ARGV[1]
if ARGV[2] ~= '' and redis.call('HGET', kept, 'name') == ARGV[2] then
	local fields = redis.call('HGETALL', kept)
	for at = 1, #fields, 2 do
		if fields[at] ~= 'name' then give(fields[at], tonumber(fields[at + 1])) end
	end
end
local used = {}
local all = {}
local full = {}
for at = 3, #ARGV, 5 do
	local id = ARGV[at]
	local cost = tonumber(ARGV[at + 2])
	local taken = {}
	local denial = full[id]
	if not denial then
		for n, window in ipairs(windows) do
			local limit = tonumber(ARGV[at + 2 + n])
			if limit > 0 then
				local rest = ':' .. id .. ':' .. window.number
				local key = 'rl:' .. ARGV[at + 1] .. ':' .. window.name .. rest
				used[key] = used[key] or tonumber(redis.call('GET', key) or '0')
				local share = math.min(cost, limit)
				if used[key] + share > limit then
					local shut = used[key] >= limit
					if not shut then
						local misfits = 'rl:' .. ARGV[at + 1] .. ':' .. window.name .. '-misfits' .. rest
						shut = redis.call('INCR', misfits) > ${MISFITS_MOST}
						redis.call('EXPIRE', misfits, window.length * 2)
					end
					denial = { window.name, window.opens, shut and 1 or 0 }
				else
					taken[#taken + 1] = { key = key, share = share, life = window.length * 2 }
				end
			end
		end
	end
	if denial then
		if denial[3] == 1 then full[id] = denial end
		answers[#answers + 1] = denial
	else
		for _, one in ipairs(taken) do
			used[one.key] = used[one.key] + one.share
			all[one.key] = { share = (all[one.key] and all[one.key].share or 0) + one.share, life = one.life }
		end
		answers[#answers + 1] = false
	end
end
for key, one in pairs(all) do
	redis.call('INCRBY', key, one.share)
	redis.call('EXPIRE', key, one.life)
end
if ARGV[2] ~= '' then
	redis.call('DEL', kept)
	if next(all) then
		redis.call('HSET', kept, 'name', ARGV[2])
		for key, one in pairs(all) do redis.call('HSET', kept, key, one.share) end
		redis.call('EXPIRE', kept, 172800)
	end
end
return answers`;

/** Gives room back that was taken. ARGV: two values for each window, its key and the share. A window that is over stays over. */
export const GIVE_BACK = `${GIVE}
for at = 1, #ARGV, 2 do give(ARGV[at], tonumber(ARGV[at + 1])) end`;

/** Reads how the two windows of one config stand. ARGV: `{owner}:{config}`, the channel. Answers what is used of the minute and of the day, and the end of each in milliseconds since 1970. */
export const READ_WINDOWS = `
local seconds = tonumber(redis.call('TIME')[1])
local answers = {}
for _, window in ipairs({ { name = 'min', length = 60 }, { name = 'daily', length = 86400 } }) do
	local number = math.floor(seconds / window.length)
	local key = 'rl:' .. ARGV[2] .. ':' .. window.name .. ':' .. ARGV[1] .. ':' .. string.format('%d', number)
	answers[#answers + 1] = tonumber(redis.call('GET', key) or '0')
	answers[#answers + 1] = (number + 1) * window.length * 1000
end
return answers`;
