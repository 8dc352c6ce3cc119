"""Words of Chinese. `en` says what each table is for."""

from __future__ import annotations

FUNCTION_WORDS = ""
LANGUAGES = r"[英法德日韩俄中汉](?:语|文)|西班牙语|意大利语"
NEW_TEXTS = ()
TEXT_WORK = (
    r"翻译|译成|润色|校对|改写|缩写|总结|概括|摘要|续写|接着写|修改|语法|错别字|转写|仿写|扩写|分类|提取|复述|朗读",
    r"(?:怎么|如何|该怎么|帮我)(?:回复?|回答|说|写)|回复(?:他|她|这|一下)|写一(?:篇|封|个|首|段)|讲(?:个|一个)故事",
    r"(?:这|下面|以下|上面)(?:段|句|篇|封|些|个)?(?:话|文|文章|内容|邮件|信|文字)",
    r"(?:什么意思|说了什么|对吗|通顺吗|自然吗|解释一下|分析一下|看看这)|转发|小说|主角|假设|扮演|假装|你是一个",
    r"你(?:住在|在)?(?:哪里|哪儿)|你叫什么|你(?:是)?做什么",
)
_ASIDE = r"其实|顺便说一下|另外|还有|麻烦"
INTERJECTIONS = (r"(?:好的?|嗯|对|不对|不是|你好|谢谢|对了|更正)",)
OPENERS = (*INTERJECTIONS, rf"(?:{_ASIDE}|请)")
OWN = (r"(?:我|咱们?|记住|记得|请记住|请记得|别忘了|以后|今后|从现在起|从现在开始|从今以后|叫我)",)
REQUESTS = (r"帮我(?:订|找|查|约)",)
GREETINGS = (r"(?:你好|谢谢|早上好|好的)",)
REMEMBERING = (r"(?:你?(?:能|可以))?(?:帮我)?记住[，,]?我",)
LABELS = (r"(?:偏好|规则|决定|事实|重要|我的偏好|请?(?:记住|记得|别忘了))",)
NOT_PLAIN = (
    r"如果|要是|假如|假设|比如|例如|譬如|也许|可能|希望|但愿|据说",
    r"(?<!别)(?:说|写道|表示|称)[：:，]?",
    r"吗[？?。]?$|呢[？?]$",
)
TEXTS = ()
BRINGS = TAINTS = (
    r"[这那他她它]",
    r"下面",
    r"以下",
    r"上面",
    r"邮件",
    r"信",
    r"文章",
    r"段",
    r"句",
)
LEADS_IN = (r"我(?:想|要|需要|收到|看到|写)",)
SPEAKING = r"说|回答|写"
ADDRESSING = ("(?:你好|大家好|各位)", "(?:大家|各位)")
SIGN_OFFS = (r"(?:此致|敬礼|祝好)",)
KEPT_CLAUSES = (
    (r"请?(?:记住|记得|别忘了)", "fact"),
    (r"以后|今后|从现在起|从现在开始|从今以后", "decision"),
    (r"(?:我们?|咱们?)(?:已经|最后|刚刚?)?(?:决定|选择了?|商定|定了)", "decision"),
    (
        (
            r"我(?:们)?(?:更|最|很|不|比较|从不|从来不)?(?:喜欢|讨厌|偏好|爱|吃|喝|习惯)|我对[^，。"
            r"]{1,12}过敏|我(?:是|吃)素"
        ),
        "preference",
    ),
    (
        r"我(?:现在|目前|上个月|刚|刚刚|去年|今年)?(?:已经)?(?:住在|搬到|"
        r"在[^，。]{1,12}(?:工作|上班|上学)|叫|来自|是一?[名个位])",
        "fact",
    ),
    (r"我们?(?:公司|团队|项目|这边)?(?:都|一直|现在|只)?用", "fact"),
    (r"(?:我|我们)的?[^，。是]{1,8}(?:是|叫|在|改成)", "fact"),
)
PASSING = (r"今天|今晚|刚刚",)
CONJUNCTIONS = ""
PRONOUNS = ("我",)
ASIDES = (r"顺便说一下\W*$",)
THAT = ()
POSSESSIONS = ()
MAIL_HEADERS = ""
WROTE = ""
SALUTATIONS = ""
SOURCES = ""
CHARACTERS = (r"[\u4e00-\u9fff]",)

# How a night words a line

LEADS = (rf"(?:{_ASIDE}|请?(?:记住|记得|别忘了)|从现在起|从现在开始|以后|今后)",)
TAILS = (r"(?:顺便说一下|谢谢)",)
ASIDES_WITHIN = ()
TURNED = ()
DECISION_FRAMES = (r"(?:我们?|咱们?)(?:已经|最后|刚刚?)?(?:决定|商定|定)了?",)
CHOSEN = CHOOSING = ()
MEANT = r"我(?:的意思是|是说)"
REASON = r"(?:因为|由于)"
COPULA = r"(?:是|叫|改成|改为|变成|：)"
COPULA_BACK = r"是(?:现在的|我的|我们的)"
BY_NOW = r"(?:现在|目前|如今)"
BY_NOW_WORDS = ""
ARTICLES = r"(?:我们?的|这个|那个)"
CONTRASTS = r"(?:而?不是|不再)"
GOING_BACK = r"(?:改回|换回)"
VALUE_ENDS = r"[，,](?:因为|但|直到)"
UNTIL_WORDS = r"(?:直到|到)"
THING_ATTRIBUTES = (
    (r"(?P<thing>[^，。]{2,20}?)(?:现在)?(?:运行)?在端口 ?(?P<value>\d{2,5})", "{thing} port"),
)
POSSESSIVES = r"(?:我们?的|咱们?的)"
SPEAKERS = r"我们?"
OF_ANOTHER = ()
HEDGES = ""
OPPOSITES = ""
UNITS = "秒 分钟 小时 天 周 个月 年"
TENS = ""
# From zero on.
NUMERALS = """
零 一 二 三 四 五 六 七 八 九 十
"""

# The shape of a sentence (see `sessions.shapes`): words are not told apart.

GENERIC, PERSON = "", "(?!)"
NOMINATIVE = SUBJECTS = ADVERBS = BEING = HAVING = COMING = NEGATED = NEGATIONS = TROUBLES = ""
OBJECTS = RELATIVES_OF_CLAUSES = REPEATING = ANAPHORA = MENTAL = MOODS = LASTING = CHANGES = (
    JUDGEMENTS
) = TASKS = MORE_TASKS = ""
AUXILIARIES = "是"
FINITE = BIDDING = ()
BEFORE_TOPICS = ""
FORBIDDING = (r"^(?:请)?(?:不要|千万别|别(?!忘)|永远|始终|每次|总是)",)
STANDING = (r"永远|始终|每次|总是",)
HEDGING = ()
FROM_NOW_ON = (r"以后|今后|从现在起|每次",)
AT_HAND = (r"[这那]|先|现在|还",)

# Rules that are for English alone so far

BEFORE_DATE = PERFECT = ARRANGED = BEFORE_ORDINALS = ""
STOP_WORDS = FIRST_PERSON = SECOND_PERSON = HAPPENINGS = WISHES = ""
TIME_WORDS = NUMBERS = RELATIVES = PEOPLE = KIN = BELONGINGS = REQUIREMENTS = CORRECTING = ""
MANY_VALUED = TOOL_DECISIONS = WEEKDAYS = MONTHS = PAST = FUTURE = TO_COME = HABITUAL = REPEATED = (
    ""
)
GREETING = NARRATION = REFUSALS = REMARKS = NAMING = REASONS = CAPTION = CHOICES = ANSWERS = ()
RULES = KEPT_ANYWHERE = LESSONS = STATUSES = AGENT_HINTS = ATTRIBUTES = NOT_SO = NOT_SO_BEFORE = ()
YOU_MAY = r"(?!)"
RIDDLES = BROUGHT = COMING_NEXT = FORGET_REQUESTS = ERASE_REQUESTS = INLINE_LABELS = (
    TOPIC_LABELS
) = AGENTS = ASKS = ()
KEEP_REQUESTS = CORRECTIONS = REPORTED = ("", ())
KEY_SYNONYMS: dict[str, tuple[str, ...]] = {}
KEY_QUESTIONS: dict[str, str] = {}

# Prompts that need the talk before them

ACKNOWLEDGEMENTS = """
好 好的 好吧 是 是的 对 对的 不 不是 谢谢 多谢 谢谢你 可以 行 没问题 明白 明白了 知道了 很好
"""
GOING_ON = (r"(?:那么?|还有|以及|但是?|只|另外)", r"[^，。？]{1,12}呢[？?]?$")
POINTING_BACK = (r"[它他她]们?|这个|那个|这些|那些|那里|这里|另一个|两者|其中",)
MAKING = (r"(?:请|帮我|现在)*(?:写|起草|创建|准备|添加|生成|打开|格式化|命名)",)
DETERMINERS = PREPOSITIONS = ""

CALENDAR: dict[str, str] = {}
