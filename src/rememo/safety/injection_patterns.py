"""The wordings by which instruction-like text is detected. They are matched against plain, lower-case text."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from rememo.runtime.lazy import lazy

TRIGGERS: Final = (
    "ignor", "disregard", "forget", "overrid", "bypass", "neglect", "discard", "drop", "abandon", "follow", "attention to",
    "aside", "no longer", "you are now", "you're now", "act as", "pretend", "roleplay", "behave", "become", "safety",
    "content", "security", "instruction", "prompt", "guideline", "configuration", "initialization", "directive", "above",
    "before this", "preceding", "assistant", "language model", "llm", "ai", "a.i.", "agent", "chatbot", "model", "bot",
    "system", "admin", "developer", "operator", "user", "memor", "conversation", "chat history", "credential", "password",
    "token", "api key", "secret", ".ssh", "id_rsa", ".env", "rm -rf", "curl ", "wget ", "without", "confirmation", "tool", "function", "positive", "rate this",
    "anweisung", "regeln", "vorgaben", "instruktion", "befehle", "richtlinien", "consignes", "règles", "instruc",
    "reglas", "indicaciones", "órdenes", "instruç", "regras", "orientaç", "istruzioni", "regole", "indicazioni",
    "инструкц", "правил", "указани", "команд", "систем", "指令", "指示", "规则", "規則", "提示", "命令", "说明", "ルール",
    "プロンプト", "지시", "명령", "규칙", "프롬프트", "تجاهل", "انس", "निर्देश", "ignoruj", "zapomnij", "negeer", "vergeet", "talimat", "kural",
)  # fmt: skip
"""One of these stands in everything that a sign could find."""


@dataclass(frozen=True)
class InjectionPattern:
    """A wording, and words of which one must stand in a text for it to be found: looking for these is cheap."""

    needs: tuple[str, ...]
    wording: str

    @lazy
    def pattern(self) -> re.Pattern[str]:
        """Compile the wording, when a text first has what it needs."""
        return re.compile(self.wording)

    def find(self, text: str, most: int) -> Iterable[re.Match[str]]:
        """Give where it stands, at most so often."""
        for need in self.needs:
            if need in text:
                return islice(self.pattern.finditer(text), most)
        return ()


def _pattern(needs: str, wording: str) -> InjectionPattern:
    """Return a pattern; what it needs is written with bars in between."""
    return InjectionPattern(tuple(needs.split("|")), wording)


_ON: Final = r"[^.!?;]"  # goes on within the sentence
_DROP: Final = (
    r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|bypass(?:ing)?|neglect|discard|drop|abandon"
    r"|stop following|do not follow|don't follow|no longer follow|pay no attention to)\b"
)
_DROPS: Final = "ignor|disregard|forget|overrid|bypass|neglect|discard|drop|abandon|follow|attention to"
_THEIRS: Final = r"\b(?:previous|prior|preceding|earlier|above|former|your|its|system|safety|you were given)\b"
_ANY: Final = r"\b(?:all|any|every|existing|original|initial|current|these|those)\b"
_TOLD: Final = (
    r"\b(?:instructions?|prompts?|guidelines?|guidance|directives?|directions|commands?|restrictions?|constraints?"
    r"|system messages?|programming|training|orders)\b"
)
_RULES: Final = r"\b(?:rules|polic(?:y|ies))\b"
OVERRIDING: Final = (
    _pattern(_DROPS, rf"{_DROP}{_ON}{{0,30}}?(?:{_THEIRS}|{_ANY}){_ON}{{0,40}}?{_TOLD}"),
    _pattern(_DROPS, rf"{_DROP}{_ON}{{0,30}}?{_THEIRS}{_ON}{{0,40}}?{_RULES}"),
    _pattern(
        _DROPS,
        rf"{_DROP}{_ON}{{0,20}}?\b(?:everything|anything|all|what)(?: that)? (?:you|it) (?:were|was|have|had|has|knows?|been)\b",
    ),
    _pattern(
        _DROPS,
        rf"{_DROP}{_ON}{{0,15}}?(?:{_TOLD}|{_RULES}){_ON}{{0,15}}?\b(?:above|so far|you (?:were|have)|given to you)\b",
    ),
    _pattern(
        "aside",
        rf"\b(?:set|sets|leave|put|lay)(?:ting|ing)? {_ON}{{0,20}}?{_THEIRS}{_ON}{{0,30}}?(?:{_TOLD}|{_RULES})(?: \w+)? ?aside",
    ),
    _pattern(
        "aside",
        rf"\b(?:set|leave|put|lay)(?:ting|ing)? aside {_ON}{{0,20}}?{_THEIRS}{_ON}{{0,30}}?(?:{_TOLD}|{_RULES})",
    ),
    _pattern(
        "no longer",
        rf"\bno longer (?:bound|restricted|limited|constrained){_ON}{{0,20}}?\b(?:your|its|any|the)\b{_ON}{{0,30}}?(?:{_TOLD}|{_RULES})",
    ),
    _pattern(
        "you are now|you're now|act as|pretend|roleplay|behave|become",
        rf"\b(?:you are now|you're now|act as|pretend to be|roleplay as|behave as|become)\b{_ON}{{0,60}}?"
        r"\b(?:unrestricted|uncensored|unfiltered|jailbroken|dan|without (?:any )?(?:restrictions?|limits|rules|filters|guidelines))\b",
    ),
    _pattern("override", r"\b(?:admin|administrator|operator|developer|root|system) override\b"),
    _pattern(
        "safety |content |security ",
        rf"\b(?:safety|content|security) (?:checks?|filters?|rules|polic(?:y|ies)|guidelines|restrictions?)\b{_ON}{{0,25}}?"
        r"\b(?:suspended|disabled|switched off|turned off|lifted|deactivated)\b",
    ),
    _pattern("new ", r"\bnew (?:instructions|system prompt|directive)\s*:"),
)
"""It tells its reader to drop what it was told."""

_IMPERATIVE: Final = r"""(?:^|[.!?:;,"'(\])>}*#] ?|\b(?:please|and|then|must|should|now|kindly|also|or|to|first) )"""
_SHOW: Final = r"(?:reveal|show|print|output|display|disclose|leak|repeat|recite|dump|expose|paste|append|return|tell me|give me|write out|copy|list|send)"
_PROMPTS: Final = "prompt|instruction|message|configuration|guideline|initialization"
PROMPTING: Final = (
    _pattern(
        _PROMPTS,
        rf"{_IMPERATIVE}{_SHOW} {_ON}{{0,20}}?\b(?:your|the|all|any|full|entire|this) {_ON}{{0,20}}?"
        r"\b(?:system|initial|hidden|original|secret|developer|internal) (?:prompts?|instructions?|messages?)\b",
    ),
    _pattern(
        _PROMPTS,
        rf"{_IMPERATIVE}{_SHOW} {_ON}{{0,20}}?\byour (?:\w+ )?(?:instructions|prompt|configuration|guidelines|initialization)\b",
    ),
    _pattern(
        "above|before this|preceding",
        rf"\b(?:repeat|print|output|copy|recite|echo) {_ON}{{0,20}}?\b(?:text|words?|everything|messages?|sentences?|content)"
        r"(?: \w+)? (?:above|before this|preceding)\b",
    ),
)
"""It asks for the instructions its reader was given."""

_MACHINE: Final = (
    r"(?:ai|a\.i\.|llms?|(?:large )?language models?|chatbots?|ai[ -](?:agents?|models?|assistants?|systems?|tools?)|assistants?"
    r"|(?:coding|ai coding) (?:assistants?|agents?))"
)
_NOT_PEOPLE: Final = (
    r"(?! (?:research|engineer|develop|compan|startup|enthusiast|student|practition|user|manage|profess|coach|editor|expert|team|director"
    r"|vendor|feature|product|specialist|chef|nurse))"
)
INSTRUCTING: Final = (
    _pattern(
        "note|message|instruction|notice|attention|reminder|command",
        r"\b(?:note|message|instruction|notice|attention|reminder|command)s? (?:to|for) (?:the |any |all |every |our |an? )?"
        rf"{_MACHINE}\b{_NOT_PEOPLE}",
    ),
    _pattern(
        "dear|hey|hi|hello|attention", rf"\b(?:dear|hey|hi|hello|attention)[ ,:]+(?:\w+ )?{_MACHINE}\b{_NOT_PEOPLE}"
    ),
    _pattern("if you are|if you're", rf"\bif you(?:'re| are) (?:an? )?(?:\w+ )?{_MACHINE}\b{_NOT_PEOPLE}"),
    _pattern(
        "ing this|ing the following",
        rf"\b(?:{_MACHINE}|agents?|model|bots?) (?:that (?:is|are) )?"
        r"(?:reading|processing|parsing|summari[sz]ing|reviewing|crawling|analy[sz]ing) (?:this|the following)\b",
    ),
    _pattern("as an |as the ", rf"\bas (?:an|the) {_MACHINE},? (?:you|please|we ask you)\b"),
    _pattern(
        "ai|coding|llm",
        r"\b(?:ai|coding|llm) (?:assistants?|agents?|models?)?: ?(?:please )?"
        r"(?:do not|don't|you|always|never|ignore|instead|stop|skip|approve|say|add)\b",
    ),
    _pattern(
        "assistant|agent|ai|llm|chatbot|model",
        r"(?:^|[.!?\"'*#>] ?)(?:assistant|agent|ai|llm|chatbot|model)[,!] (?:please |now )?"
        r"(?:do not|don't|you|always|never|before|ignore|instead|stop|first|call|run|send|say|add|use|tell|when|to)\b",
    ),
    _pattern(
        "system|admin|developer|operator",
        r"\b(?:system|admin|administrator|developer|operator)(?: (?:message|notice|note))? ?: ?"
        r"(?:from now on|you (?:must|are|will|should)|always|never|ignore|override|disregard|forget|new (?:polic|rule|instruct))",
    ),
)
"""It speaks to an assistant, who is not its reader."""

ROLES: Final = (
    _pattern(
        "<|", r"<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|start_header_id|eot_id|begin_of_text)\|>"
    ),
    _pattern("INST]|SYS|_of_turn>", r"\[/?INST\]|<<\s{0,5}/?SYS\s{0,5}>>|<(?:start|end)_of_turn>"),
    _pattern("<", r"</?(?:system|assistant|system_prompt|system-prompt|developer)>"),
    _pattern(
        "##",
        r"(?im)^ {0,3}#{2,4} ?(?:system|instructions?|assistant|response) ?(?::|$)"
        r"(?=[\s\S]{0,300}^ {0,3}#{2,4} ?(?:assistant|response|user|input) ?(?::|$))",
    ),
    _pattern("Assistant: ", r"(?m)^ {0,3}(?:Human|User): [^\n]{1,2000}\n{1,3} {0,3}Assistant: "),
    _pattern("BEGIN ", r"\bBEGIN (?:SYSTEM|ADMIN|DEVELOPER) (?:PROMPT|MESSAGE|OVERRIDE|INSTRUCTIONS?)\b"),
)
"""It has the marks by which models are told who speaks: matched against the text as it was given."""

_IGNORE_DE: Final = (
    r"\b(?:ignoriere|ignorier|vergiss|missachte|übergehe|verwirf|ignorieren sie|vergessen sie (?!nicht))\b"
)
FOREIGN: Final = (
    _pattern(
        "anweisung|regeln|vorgaben|instruktion|befehle|richtlinien",
        rf"{_IGNORE_DE}{_ON}{{0,50}}?(?:anweisung|regeln|vorgaben|instruktion|befehle|richtlinien)",
    ),
    _pattern("prompt", r"\b(?:gib|zeige?|verrate?|nenne|drucke)\b[^.!?;]{0,40}?system-?prompt"),
    _pattern(
        "instructions|consignes|règles|directives",
        r"\b(?:ignore[zr]?|oublie[zr]?|néglige[zr]?|ne tiens pas compte)\b[^.!?;]{0,50}?\b(?:instructions|consignes|règles|directives)",
    ),
    _pattern(
        "instrucciones|reglas|indicaciones|órdenes",
        r"\b(?:ignora|ignore|olvida|olvide|omite|descarta|desatiende)\b[^.!?;]{0,50}?\b(?:instrucciones|reglas|indicaciones|órdenes)",
    ),
    _pattern("sistema", r"\b(?:muestra|revela|imprime|dime|mostra|rivela)\b[^.!?;]{0,40}?\bprompt (?:del?|do) sistema"),
    _pattern(
        "instruções|regras|orientações",
        r"\b(?:ignore|ignora|esqueça|esquece|desconsidere)\b[^.!?;]{0,50}?\b(?:instruções|regras|orientações)",
    ),
    _pattern(
        "istruzioni|regole|indicazioni",
        r"\b(?:ignora|dimentica|trascura)\b[^.!?;]{0,50}?\b(?:istruzioni|regole|indicazioni)",
    ),
    _pattern(
        "инструкц|правил|указани|команд",
        r"\b(?:игнорируй|игнорируйте|забудь|забудьте|не обращай внимания на)\b[^.!?;]{0,50}?(?:инструкц|правил|указани|команд)",
    ),
    _pattern("систем", r"\b(?:выведи|покажи|раскрой|напиши)\w*\b[^.!?;]{0,40}?систем\w* (?:промпт|подсказк|инструкц)"),
    _pattern(
        "指令|指示|规则|規則|提示|命令|说明",
        r"(?:忽略|无视|無視|忘记|忘記|不要理会|跳过).{0,15}?(?:指令|指示|规则|規則|提示|命令|说明的限制)",
    ),
    _pattern(
        "系统提示", r"(?:输出|显示|顯示|透露|告诉我|打印).{0,12}?系统提示|系统提示.{0,12}?(?:输出|显示|透露|打印)"
    ),
    _pattern(
        "指示|命令|ルール|プロンプト|指令",
        r"(?:指示|命令|ルール|プロンプト|指令).{0,12}?(?:無視|忘れ)|システムプロンプト.{0,8}?(?:表示|教え|出力|公開)",
    ),
    _pattern(
        "지시|명령|규칙|프롬프트",
        r"(?:지시|명령|규칙|프롬프트).{0,15}?(?:무시|잊)|시스템 프롬프트.{0,10}?(?:보여|출력|알려)",
    ),
    _pattern("تجاهل|انس", r"(?:تجاهل|انس).{0,40}?(?:تعليمات|أوامر|قواعد)"),
    _pattern("निर्देश", r"निर्देश.{0,40}?(?:अनदेखा|भूल|नज़रअंदाज़)"),
    _pattern("ignoruj|zapomnij", r"\b(?:zignoruj|ignoruj|zapomnij)\b[^.!?;]{0,50}?\b(?:instrukcj|polece|zasad)"),
    _pattern("negeer|vergeet", r"\b(?:negeer|vergeet)\b[^.!?;]{0,50}?\b(?:instructies|regels|aanwijzingen)\b"),
    _pattern(
        "talimat|kural",
        r"(?:önceki|tüm)[^.!?;]{0,30}?(?:talimat|kural)[^.!?;]{0,20}?(?:yok say|unut|görmezden)",
    ),
)
"""The same as the first, and asking for instructions, in other languages."""

_NOT_TELL: Final = r"(?:tell|mention|inform|notif|reveal|alert|disclos|let|ask|consult|report)\w*"
WEAK: Final = {
    name: (weight, _pattern(needs, wording))
    for name, weight, needs, wording in (
        ("secrecy", 2, " user", rf"\b(?:do not|don't|never|without|must not) {_NOT_TELL} {_ON}{{0,30}}?\buser\b"),
        ("silence", 1, "do not|don't|never", r"\b(?:do not|don't|never) (?:mention|reveal|disclose|talk about) (?:this|these|it|that)\b"),
        ("memory", 2, "memor", rf"\b(?:save|store|write|add|commit|put|record|keep)\b{_ON}{{0,60}}?\b(?:to|in|into) (?:your |the |its )?(?:long-term |permanent |persistent )?memor(?:y|ies)\b(?! (?:of|leak|limit|usage))"),
        ("updating", 2, "your memor|your long-term", r"\b(?:update|change|overwrite|modify|edit) your (?:long-term )?memor(?:y|ies)\b"),
        ("exfiltration", 2, "conversation|chat history|credential|password|token|api key|id_rsa|.ssh|.env|secret|last |contacts|all data|ssh key", rf"\b(?:send|forward|post|upload|paste|append|e-?mail|transmit|exfiltrate|add|include|attach)\b{_ON}{{0,60}}?(?:\bconversation|\bchat history|\bcredentials?\b|\bpasswords?\b|\btokens?\b|\bapi keys?\b|id_rsa|\.ssh\b|\.env\b|\bsecrets?\b|\blast (?:message|three|\d+) |\b(?:all|user) (?:\w+ )?(?:contacts|data|ssh keys)\b)"),
        ("private", 1, ".ssh|id_rsa|/etc/passwd|.env", r"~/\.ssh|\bid_rsa\b|/etc/passwd\b|\.env\b"),
        ("shell", 2, "rm -rf|curl |wget ", r"\brm -rf\b|\b(?:curl|wget) [^|]{1,200}\| ?(?:ba)?sh\b|\bwget [^|]{1,200}chmod \+x\b"),
        ("unasked", 2, "without", r"\bwithout (?:any |the |further |asking |user |the user's )?(?:for )?(?:user |prior )?(?:confirmation|permission|approval|validation|verification|asking the user)\b"),
        ("loosening", 2, "safety|security|confirmation|protection", rf"(?<!not )(?<!never )(?<!n't )\b(?:ignor(?:e|es)|disregard|bypass|skip|disable)\b{_ON}{{0,25}}?\b(?:safety|security|confirmation|agent)\b{_ON}{{0,12}}?\b(?:protocols?|checks?|measures|constraints|controls|requirements?|protections?)\b"),
        ("casting", 1, "agent|assistant", r"\b(?:as|you are|you're|working as) (?:a|an|my) (?:\w+ ){0,3}(?:agent|assistant)\b"),
        ("tool", 1, "tool|function|transfer_|send_|delete_", rf"\b(?:call|invoke|use|run|execute|trigger)\b{_ON}{{0,30}}?\b(?:tools?|functions?|transfer_\w+|send_\w+|delete_\w+)\b"),
        ("actor", 1, "must|should|has to|needs to|is to|shall", r"\b(?:the|every|any) (?:assistant|ai|chatbot|(?:large )?language model|llm|model|agent|bot)(?: \w+){0,3}? (?:must|should|has to|needs to|is to|shall)\b(?! be\b)"),
        ("belief", 1, "the user", r"\bthe user(?:'s \w+)? (?:has |have )?(?:also |always )?(?:prefers?|trusts?|agreed|approved|authori[sz]ed|consent\w*|wants?|is an admin\w*|hates?)\b"),
        ("lasting", 1, "from now on|from this |from here on|henceforth|future|later|subsequent|upcoming|whenever the user", r"\bfrom now on\b|\bfrom this (?:point|moment) (?:on|forward)|\bfrom here on\b|\bhenceforth\b|\b(?:all|every|any|each) (?:future|later|subsequent|upcoming) (?:conversation|session|chat|answer|response|repl|interaction|request)|\bwhenever the user\b"),
        ("command", 1, "always|never|must|only", r"\b(?:always|never|must|only) (?:not )?(?:recommend|suggest|mention|say|answer|reply|respond|ask for confirmation|refuse|promote|praise|comply)\b"),
        ("unlocking", 1, " mode|grant ", r"\b(?:developer|god|jailbreak|dan|unrestricted|debug) mode (?:is |has been )?(?:now )?(?:enabled|activated|on)\b|\bgrant (?:every|all|any) requests?\b"),
        ("praise", 2, "positive|rate this", r"\b(?:give|write|leave|provide) (?:a |only )?(?:a )?positive (?:review|rating|feedback|assessment)s?\b|\brate this (?:candidate|paper|product|applicant)\b"),
        ("hush", 1, "do not|don't|never", r"\b(?:do not|don't|never) (?:highlight|mention|point out|include|list|suggest)\b[^.!?;]{0,20}?\b(?:negativ|weakness|flaw|drawback|competitor|other|anyone else)"),
    )
}  # fmt: skip
"""Signs that prove nothing alone, each with its weight."""
