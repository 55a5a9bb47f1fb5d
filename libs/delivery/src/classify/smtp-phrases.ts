/*
 * What servers say, in the words that they say it in. Each pattern is linear: a repetition has a small bound, or nothing follows it.
 * They are tried against a text without mail addresses and links (see `wordsOf`), for those may hold any word.
 */

/** The address is nobody's. */
export const USER_UNKNOWN =
	/user unknown|unknown (user|recipient|account|mailbox|local)|no such (user|mailbox|recipient|account|person|local|address|e-?mail)|invalid (recipient|mailbox|user)\b|\b(user|recipient|mailbox|mail box|account|address)\b.{0,60}(not found|not exist|n't exist|unknown|no longer (exists|available))|(用户|用戶|收件人|收信人|邮箱|郵箱|信箱|账号|帐号|帳號|账户|帳戶|地址).{0,10}(不存在|未找到|找不到|无效|無效)|(无|無|没有|沒有)此?(用户|用戶|收件人|邮箱|郵箱|账号|帐号|帳號)|不存在.{0,4}(用户|用戶|收件人|邮箱|郵箱|账号|帐号|帳號)/i;
/** The address is known, and takes nothing any more. */
export const DISABLED =
	/\b(mailbox|account|user|recipient|address)\b.{0,40}(disabled|inactive|suspended|deactivated|locked|not active)|(disabled|inactive|suspended|deactivated) (mailbox|account|user|recipient)|(邮箱|郵箱|账号|帐号|帳號|账户|帳戶|用户|用戶).{0,8}(停用|禁用|冻结|凍結|锁定|鎖定|未激活)/i;
export const NO_DOMAIN =
	/no such (domain|host)|unknown (domain|host)|unrout|no route|\b(domain|host)\b.{0,30}(not found|unknown|not exist|n't exist)|(域名|网域|網域).{0,8}不存在|无法路由/i;
export const NULL_MX = /null ?mx|(does not|doesn't) accept (any )?(e-?)?mail|不接收邮件|不接受邮件/i;
export const MOVED = /\bmoved\b|not local|已迁移|非本地/i;
export const BAD_ADDRESS =
	/(address|mailbox|recipient) syntax|syntax.{0,40}(address|recipient|mailbox)|(malformed|bad|invalid|illegal) (e-?mail |recipient |destination )?(address|mailbox)|(地址|邮箱|收件人).{0,6}格式/i;
export const MAILBOX_FULL =
	/\b(mailbox|mail box|account|recipient|user|inbox)\b.{0,40}(full|quota|exceed|storage)|over ?quota|quota (is )?(full|exceeded)|storage allocation|(邮箱|郵箱|信箱|收件箱|空间|空間|容量).{0,8}(已满|已滿|满了|滿了|不足|超限|超出)/i;
/** The recipient gets too much mail just now, from all sides. */
export const TOO_QUICKLY =
	/too (quickly|fast|rapidly)|receiving mail at a rate|rate that prevents|(收信|收件|接收).{0,6}(过快|太快|频繁|過快|頻繁)/i;
export const GREYLISTED = /gr[ae]y-?list|try again later|灰名单|灰名單|稍后(再试|重试)|稍後再試/i;
export const TOO_MANY_RECIPIENTS = /too many (recipients|rcpts?)\b|收件人.{0,4}(过多|太多|過多)/i;
/** A limit of one mail, session or connection, not of a time: the next transaction is free of it. */
export const PER_MAIL =
	/(per|in|for) (a |one |this |each |single )?(message|e-?mail|mail|transaction|session|connection)\b|(每封|单封|一封)/i;
export const TIMED_LIMIT =
	/\bdaily\b|\bhourly\b|per[ -](hour|day|minute)|\blimit|每(日|天|小时|小時|分钟|分鐘)|上限|限额|限額|(超过|超出|超過).{0,6}限/i;

export const NO_SERVICE = /no (smtp |mail )?service|(does not|doesn't) accept (any )?(e-?)?mail|不提供.{0,6}服务/i;
export const NOT_ACCEPTING = /(system|server|host) (is )?not accepting|not accepting (any )?(network )?(mail|messages)/i;
/** A server that shuts down says so with the code of a limit. */
export const SHUTTING_DOWN =
	/service (is )?(not available|unavailable)|shutting down|shut ?down|going down|closing (transmission )?channel/i;
export const OUR_NAME = /\b(helo|ehlo|host ?name|domain|name)\b|主机名|主機名/i;
export const NO_MECHANISM =
	/mechanism|not (implemented|supported|offered|available|enabled|recogni[sz]ed)|unsupported|unrecogni[sz]ed|不支持|未启用/i;
export const TOO_MANY_LOGINS =
	/too many.{0,30}(log-?ins?|attempts|auth|fail)|failed log-?ins?|(登录|登入|认证|認證|验证|驗證).{0,12}(过多|太多|频繁|次数|過多|頻繁|次數)/i;
export const NEEDS_TLS = /starttls|\btls\b.{0,20}required|requires? (tls|encryption)|encryption (is )?required/i;
export const NEEDS_LOGIN = /auth|log ?in|not logged|登录|登入|认证|認證|验证/i;
export const NOT_OWNER =
	/not owned|not (the )?owner|send as\b|sendas|must (be )?(equal|the same|match).{0,30}(user|login|account|auth)|(代发|代發)|发件人.{0,10}(不一致|不符|不匹配)/i;
export const NOT_VERIFIED = /not verified|unverified|未验证|未驗證|未经验证|未經驗證/i;
export const BAD_SENDER =
	/(sender|from|return[- ]path|reverse[- ]path).{0,40}(syntax|malformed|invalid|bad)|(bad|invalid|malformed).{0,20}(sender|\bfrom|return|reverse)|syntax.{0,30}(sender|from)|发件人.{0,6}(格式|无效)/i;
export const SENDER_REFUSED =
	/(sender|from).{0,40}(domain|block|reject|denied|not exist|n't exist|not resolve|not found|unknown)|domain.{0,30}(not exist|n't exist|not resolve|not found|block)|(发件人|發件人|发件域|发信域).{0,10}(拒绝|拒絕|不存在|屏蔽|阻止)/i;
export const SENDER_DOMAIN_UNKNOWN = /sender.{0,40}domain.{0,20}(not found|not exist|n't exist|not resolve)/i;
export const RELAY = /\brelay(ing)? (access )?(is )?(denied|not|prohibited)|(to|not) relay\b|rcpthosts|中继|中繼|转发.{0,4}(拒绝|禁止)/i;
export const POLICY =
	/polic(y|ies)|block|black ?list|spam|reputation|\b(rbl|dnsbl)\b|\blisted\b|\bbanned\b|策略|黑名单|黑名單|垃圾|信誉|信譽/i;
export const TOO_LARGE =
	/too (large|big)|message size|size (limit|exceed)|exceed.{0,30}size|(邮件|郵件|信件|附件).{0,8}(过大|太大|過大|大小)/i;
export const NO_UTF8 = /smtputf8|internationali[sz]ed|non-?ascii/i;
export const NO_SPACE = /insufficient (system )?storage|disk|no space|磁盘|磁碟/i;
export const LOOP = /\bloop|too many hops|hop count|循环|循環|环路|環路/i;
export const NO_VALID_RECIPIENTS = /no valid recipients?|(没有|无)有效.{0,2}收件人/i;
export const TIMED_OUT = /timed?[ -]?out|超时|超時|逾時/i;
export const CONTENT = /spam|content|virus|malware|infected|垃圾|病毒|内容|內容/i;
export const OUR_DOMAIN = /\b(SPF|DKIM|DMARC)\b/i;
export const PROTOCOL =
	/protocol error|syntax error|bad (command )?sequence|sequence of commands|(command|verb).{0,20}(unrecogni[sz]ed|not (recogni[sz]ed|implemented|understood))|(unrecogni[sz]ed|unknown) command/i;

export const SENDING_LIMIT =
	/daily.{0,40}(limit|quota)|sending (limit|quota)|(limit|quota).{0,30}(per day|daily)|(每日|每天|当日|當日).{0,10}(上限|限额|限額|配额|配額|超)|(发信|发送|發送).{0,6}(上限|限额|限額|配额|超限)/i;
export const FREQUENCY = /frequency.{0,12}limited|频率|頻率|(发送|發送|发信|连接|連接).{0,6}(频繁|頻繁)/i;
export const UNUSUAL_RATE =
	/unusual rate|thread limit|too many (concurrent |open |simultaneous )?(smtp )?connections|connection rate|concurrent connections|HL:IFC|连接.{0,6}(过多|频繁)/i;
export const THROTTLED = /throttl|\b(rate|daily|quota)\b.{0,40}(exceed|quota|limit)|(配额|额度|速率).{0,8}(超|上限)/i;

/** What is about the sender, its host or its reputation. A refusal that says so tells nothing about the recipient's address. */
export const ABOUT_US =
	/\b(sender|client|helo|ehlo|spam|reputation|spf|dkim|dmarc|rbl|dnsbl|relay|relaying)\b|polic(y|ies)|block|black ?list|your (ip|host|domain|server|message|mail)\b|发件|發件|垃圾|黑名单|黑名單|信誉|信譽|策略/i;
