"""Given names that settle two doubts: whether "im mateo" is an introduction, and whom "she" can mean. Not needed for capitalised names."""

from rememo.text.wordlists import word_set

WOMEN = word_set(
    "ada agnes aisha alice alina amanda amelia amina amy ana anastasia andrea angela anita anja anna anne annie aoife asha astrid",
    "audrey ava barbara bea beatrice beatriz bella beth bianca birgit camila camille carla carmen carol caroline catherine cecilia",
    "celia charlotte chiara chloe christina claire clara claudia cristina daisy dana daniela deborah diana dora dorothy edith elena",
    "eleanor elif elisa elise eliza elizabeth ella ellen emilia emily emma erika esther eva evelyn fatima fatou fiona flora florence",
    "frances francesca freya frida gabriela georgia giulia gloria grace greta hana hannah hanna harriet heidi helen helena henrike",
    "hilda hope ida ines ingrid irene iris isabel isabella isla ivy jana jane janine jasmine jennifer jenny jess jessica joan joana",
    "johanna josephine joy julia juliet karen karin kate katherine kathleen katie katja keiko kelly kim kirsten lara laura lea leila",
    "lena leonie leticia lily lina linda lisa liz lorena louise lucia lucy luisa luna lydia magda maja mara margaret maria mariam",
    "marie marina marta martha mary matilda maud maya megan mei melissa mercedes mia michelle mila mina miriam molly monica monika",
    "nadia nancy naomi natalia natalie natasha neha nicole nina noor nora norma olga olivia paola patricia paula paulina petra phoebe",
    "pilar polly priya priyanka rachel raquel rebecca renata rita rosa rosalind rose ruby ruth sabine sally samantha sandra sara sarah",
    "selma shreya silvia simone sofia sonia sophia sophie stella stephanie susan svetlana sylvia tanya tara tatiana teresa tessa",
    "theresa tina uma ursula valentina valeria vanessa vera veronica victoria viola violet wanda wanjiru wendy yara yasmin yuki zara",
    "zoe zofia",
)
MEN = word_set(
    "aaron abdul adam ahmed alan albert alejandro alex alexander ali andre andreas andrew antonio anton arjun arthur asher ben benjamin",
    "bernard bob boris brian bruno carl carlos cedric charles chris christian christopher colin daniel dario dave david denis diego",
    "dieter dmitri dominic edgar eduardo edward eli elias emil emmanuel enzo eric erik ethan felix fernando finn florian francisco",
    "frank fred gabriel george gerald giovanni giuseppe gordon graham greg gus gustav hans harry hassan hector henrik henry hugo ian",
    "ibrahim idris igor ivan jack jacob jake jakob jamal james jan jason javier jay jeff jens jeremy jim joao joe joel johan john",
    "jonas jonathan jorge jose josef joseph joshua juan julian julien julio kai karim karl keith kenji kenneth kevin klaus kofi kwame",
    "lars leo leon liam lorenzo louis luca lucas luis lukas luke magnus malik manuel marc marco marcus mario mark markus martin mateo",
    "matteo matthew matthias max michael miguel mike mohamed mohammed moritz nathan neil nicolas niklas nikolai noah oleg oliver omar",
    "oscar otto owen pablo patrick paul pavel pedro peter philip pierre rafael rahul raj ralph ravi raymond ricardo richard rob robert",
    "roberto robin rohan roman ron rory russell ryan salim sam samir samuel sanjay sebastian sergei sergio simon stefan stephen steve",
    "steven sven tariq ted theo thomas tim timothy tobias todd tom tomas tony umar victor viktor vikram vincent vladimir walter wei",
    "will william wolfgang xavier yannick yusuf zack",
)
GIVEN_NAMES = WOMEN | MEN
