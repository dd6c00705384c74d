"""Words the rules know: professions, animals, illnesses, languages, things people own. All in lower case.

Closed lists on purpose: "I have a question" and "I have a canoe" have the same grammar, and only the noun tells them apart.
"""

from rememo.recall.time.words import NUMBERS
from rememo.text.wordlists import word_set

OCCUPATIONS = word_set(
    "accountant actor actress actuary administrator advisor adviser agent analyst anthropologist archaeologist architect archivist",
    "artist assistant astronaut astronomer athlete attorney auditor author baker banker barber barista barrister bartender",
    "biologist blogger bookkeeper botanist bricklayer broker builder butcher buyer cabinetmaker cameraman caregiver caretaker carer",
    "carpenter cashier chef chemist chiropractor cleaner clerk clinician coach coder columnist comedian composer conductor",
    "consultant contractor controller cook coordinator copywriter counsellor counselor courier curator dancer decorator dentist",
    "designer detective developer dietitian dietician diplomat director dispatcher dj doctor driver ecologist economist editor",
    "educator electrician engineer entomologist entrepreneur estimator farmer filmmaker firefighter fisherman florist footballer",
    "forester founder freelancer gardener geneticist geographer geologist glazier goldsmith guard guide hairdresser handyman",
    "head historian housekeeper hygienist illustrator instructor interpreter inspector investigator investor janitor jeweller",
    "joiner journalist judge jeweler laborer labourer landscaper lawyer lecturer librarian lifeguard lineman linguist lobbyist",
    "locksmith machinist magician maid mailman manager marketer mason mathematician mechanic mediator midwife miner minister model",
    "musician neurologist neuroscientist novelist nurse nutritionist officer optician optometrist painter paralegal paramedic pastor",
    "pathologist pharmacist philosopher photographer physician physicist physiotherapist pianist pilot planner plasterer plumber",
    "podiatrist poet policeman policewoman politician porter postman potter priest principal producer professor programmer",
    "proofreader psychiatrist psychologist psychotherapist publicist rabbi radiographer radiologist ranger realtor receptionist",
    "recruiter reporter representative researcher restaurateur roofer sailor salesman salesperson saleswoman scientist screenwriter",
    "sculptor seamstress secretary seller servant shepherd shopkeeper singer sociologist soldier solicitor songwriter specialist",
    "statistician steward stewardess stockbroker strategist supervisor surgeon surveyor tailor teacher technician technologist",
    "therapist tiler translator trader trainer treasurer truck_driver tutor undertaker underwriter upholsterer usher valet vet",
    "veterinarian waiter waitress warden watchmaker weaver welder winemaker writer youtuber zookeeper zoologist dba sysadmin ceo cto",
    "cfo coo hr student apprentice intern trainee postdoc undergraduate undergrad paediatrician pediatrician cardiologist",
    "dermatologist anaesthetist anesthesiologist oncologist optometrist nanny au_pair childminder stay-at-home_mom",
    "cop policeman dev vp svp evp pm sre vice_president chairman chairwoman co-founder cofounder provost dean stay-at-home_dad homemaker housewife social_worker civil_servant team_lead lead partner analyst bus_driver web_developer freshman sophomore scrum_master product_owner attendant flight_attendant operator sommelier tattooist groomer scaffolder stylist beautician masseuse arborist notary registrar headteacher drummer violinist cellist headmaster steelworker bricklayer undergraduate",
)
CLUB_OFFICES = word_set("treasurer secretary chair chairman chairwoman chairperson captain president vice-president")
"""What one is besides a job."""
LEADING_ROLES = word_set(
    "scrum_master product_owner team_lead tech_lead ceo cto cfo coo release_manager project_manager product_manager"
)
STUDIES_DONE = word_set(
    "phd degree bachelor bachelors master masters studies university uni college thesis dissertation school"
)
STUDY_SUBJECTS = word_set(
    "biology chemistry physics maths mathematics law medicine history art_history philosophy economics psychology sociology geography",
    "geology literature linguistics engineering mechanical_engineering electrical_engineering computer_science architecture nursing",
    "accounting business business_administration politics political_science anthropology archaeology theology music film design",
    "pharmacy veterinary_medicine dentistry education journalism statistics astronomy biochemistry informatics hydrology agronomy",
    "marketing finance environmental_science data_science graphic_design fine_art fine_arts theatre physio physiotherapy",
)
NOT_OCCUPATIONS = word_set("model head lead partner agent guide guard driver buyer seller maid minister owner")
"""Words that are professions only with something before them: "team lead", but not "I'm a lead"."""

EMPLOYMENT = word_set("retired self-employed unemployed freelance freelancing")
DEPARTMENTS = word_set(
    "sales marketing engineering design product operations people growth security data research finance hr it support it"
)

DIETS = word_set(
    "vegan vegetarian pescatarian pescetarian flexitarian keto paleo halal kosher gluten-free dairy-free plant-based carnivore",
    "veggie raw_vegan lacto-vegetarian low-carb mediterranean low-fodmap atkins whole30 fruitarian",
)

DRINKS = word_set(
    "alcohol coffee caffeine wine beer soda tea matcha rooibos kombucha juice cola coke lemonade cider gin whisky whiskey vodka rum",
    "prosecco champagne espresso latte cappuccino mate chai cocoa energy_drinks red_wine white_wine green_tea black_tea herbal_tea",
    "oat_milk decaf ginger_beer sparkling_water tonic cocktails spirits",
)
AIDS = word_set("wheelchair cane walker rollator crutches hearing_aid hearing_aids prosthesis walking_stick")
CONDITIONS = word_set(
    "asthma adhd add autism anxiety depression diabetes epilepsy arthritis migraines migraine insomnia hypertension anemia anaemia",
    "eczema psoriasis rosacea ibs crohns crohn's endometriosis pcos celiac coeliac dyslexia dyspraxia ocd ptsd bipolar",
    "schizophrenia scoliosis sciatica tinnitus vertigo glaucoma lupus fibromyalgia osteoporosis hypothyroidism hyperthyroidism",
    "hayfever hay_fever gout cancer leukemia leukaemia parkinson's alzheimer's dementia lyme long_covid sleep_apnea sleep_apnoea",
    "apnea narcolepsy tourette's vitiligo gerd reflux acid_reflux ulcers colitis hepatitis hiv herpes shingles pneumonia",
    "cataracts astigmatism color_blindness colour_blindness high_blood_pressure low_blood_pressure celiac_disease coeliac_disease",
    "type_1_diabetes type_2_diabetes crohn's_disease multiple_sclerosis ms cerebral_palsy chronic_fatigue kidney_stones",
    "a_heart_condition heart_condition heart_disease bad_back bad_knee bad_knees rheumatoid_arthritis chronic_pain allergies",
    "back_pain knee_pain neck_pain chronic_migraines tendonitis plantar_fasciitis sinusitis parkinson alzheimer crohn tourette seasonal_allergies high_cholesterol thyroid_disease bipolar_disorder",
)
CONDITION_ADJECTIVES = word_set(
    "diabetic asthmatic epileptic coeliac celiac autistic dyslexic pregnant deaf blind anaemic anemic bipolar colorblind",
    "colour-blind color-blind colourblind neurodivergent paraplegic immunocompromised near-sighted short-sighted",
)
TRAITS = word_set("left-handed right-handed ambidextrous introverted extroverted introvert extrovert left-footed")
STATUSES = word_set("married single divorced engaged widowed separated")

SPECIES = word_set(
    "dog dogs cat cats puppy puppies kitten kittens hamster hamsters rabbit rabbits bunny bunnies parrot parrots horse horses pony",
    "tortoise turtle tortoises turtles snake lizard gecko iguana goldfish budgie budgies canary cockatiel ferret ferrets chinchilla",
    "hedgehog rat rats mouse guinea_pig guinea_pigs fish chicken chickens hen hens duck ducks goat goats donkey sheep pig alpaca",
    "alpacas llama tarantula python bearded_dragon axolotl bird birds cockatoo macaw hound greyhound labrador lab poodle beagle",
    "retriever golden_retriever spaniel corgi dachshund terrier bulldog husky pug chihuahua schnauzer collie border_collie shepherd",
    "german_shepherd rottweiler dalmatian boxer whippet doberman mutt tabby siamese ragdoll persian sphynx maine_coon cockapoo",
    "labradoodle tomcat pup pooch doggo staffie staffy westie sausage_dog lurcher malinois samoyed akita",
)
BREEDS = word_set(
    "labrador lab poodle beagle retriever spaniel corgi dachshund terrier bulldog husky pug chihuahua schnauzer collie shepherd",
    "rottweiler dalmatian boxer whippet doberman mutt tabby siamese ragdoll persian sphynx coon cockapoo labradoodle greyhound mix",
    "shorthair hound poodle-mix",
)

LANGUAGES = word_set(
    "english french german spanish italian portuguese dutch swedish norwegian danish finnish icelandic polish czech slovak",
    "hungarian romanian bulgarian serbian croatian bosnian slovenian slovene albanian greek turkish russian ukrainian belarusian",
    "lithuanian latvian estonian georgian armenian arabic hebrew persian farsi kurdish urdu hindi bengali punjabi gujarati marathi",
    "tamil telugu kannada malayalam sinhala nepali thai vietnamese khmer lao burmese malay indonesian tagalog filipino chinese",
    "mandarin cantonese japanese korean mongolian swahili amharic yoruba igbo hausa zulu xhosa afrikaans somali welsh irish gaelic",
    "scottish_gaelic basque catalan galician breton luxembourgish maltese latin esperanto asl bsl sign_language quechua guarani",
    "yiddish pashto kazakh uzbek azerbaijani tigrinya shona twi wolof kinyarwanda",
)
PROGRAMMING = word_set(
    "python rust java javascript typescript go golang ruby php kotlin swift scala haskell elixir erlang clojure perl lua julia r",
    "matlab fortran cobol sql c c++ c# f# dart zig ocaml bash html css react excel photoshop figma blender solidity assembly",
)
NATIONALITIES = word_set(
    "american british english scottish welsh irish french german spanish italian portuguese dutch belgian swiss austrian swedish",
    "norwegian danish finnish icelandic polish czech slovak hungarian romanian bulgarian serbian croatian bosnian slovenian",
    "albanian greek turkish russian ukrainian lithuanian latvian estonian georgian armenian israeli palestinian lebanese syrian",
    "iraqi iranian saudi egyptian moroccan algerian tunisian nigerian ghanaian kenyan ethiopian somali south_african indian",
    "pakistani bangladeshi nepali sri_lankan thai vietnamese cambodian malaysian singaporean indonesian filipino chinese taiwanese",
    "japanese korean mongolian australian canadian mexican cuban jamaican colombian venezuelan peruvian chilean argentinian",
    "argentine brazilian bolivian ecuadorian uruguayan paraguayan guatemalan dominican haitian puerto_rican ugandan tanzanian",
    "zimbabwean zambian senegalese cameroonian rwandan afghan kurdish maltese cypriot luxembourgish maori",
)
RELIGIONS = word_set(
    "muslim jewish christian catholic protestant buddhist hindu sikh atheist agnostic mormon quaker jain orthodox"
)

INSTRUMENTS = word_set(
    "piano guitar violin viola cello bass double_bass drums drum flute clarinet oboe bassoon saxophone sax trumpet trombone tuba",
    "horn french_horn harp organ accordion banjo mandolin ukulele harmonica keyboard keyboards synth recorder bagpipes sitar tabla",
    "lute bass_guitar electric_guitar acoustic_guitar fiddle percussion marimba xylophone djembe erhu koto didgeridoo",
)
SPORTS = word_set(
    "tennis football soccer basketball volleyball badminton squash golf hockey ice_hockey field_hockey rugby cricket baseball",
    "softball handball lacrosse chess poker bridge go darts pool snooker billiards table_tennis ping_pong pickleball padel",
    "paddle_tennis frisbee ultimate_frisbee water_polo dodgeball netball bowling curling video_games board_games dnd d&d",
    "world_of_warcraft minecraft fortnite league_of_legends valorant overwatch checkers backgammon scrabble dominoes mahjong",
)

POSSESSIONS = word_set(
    "car cars bike bikes bicycle motorbike motorcycle scooter truck van campervan camper boat sailboat yacht kayak canoe caravan rv",
    "house flat apartment condo cottage cabin farm garden allotment garage villa studio_flat holiday_home mobile_home houseboat",
    "guitar piano violin drum_kit cello ukulele keyboard synthesizer saxophone banjo telescope camera drone laptop macbook pc",
    "computer desktop tablet ipad iphone phone smartphone smartwatch kindle console playstation xbox switch ps5 vr_headset",
    "printer 3d_printer tv television projector turntable record_player sewing_machine loom kiln greenhouse hot_tub pool sauna",
    "treadmill rowing_machine exercise_bike surfboard snowboard skateboard skis tent motorhome tractor trailer ebike e-bike",
    "electric_car tesla honda toyota subaru volvo bmw audi ford mercedes porsche vespa harley mazda nissan kia hyundai jeep fiat",
    "renault peugeot skoda volkswagen vw chevy chevrolet lexus prius civic corolla espresso_machine air_fryer instant_pot bakery",
    "restaurant cafe café shop store business company startup studio salon food_truck vineyard hatchback suv sedan pickup",
    "camper_van roadster minivan convertible record_collection vinyl_collection guitars cameras boats houses properties watch",
    "telecaster stratocaster fender gibson yamaha fiesta octavia passat niro fairphone thinkpad galaxy squier pixel e-scooter typewriter accordion harp dslr gopro ebook_reader e-reader grill smoker lawnmower chainsaw",
)
VEHICLES = word_set(
    "car truck van suv hatchback sedan pickup motorbike motorcycle scooter bus taxi convertible minivan camper campervan roadster",
)
DWELLINGS = word_set(
    "house flat apartment condo cottage cabin farm farmhouse studio villa bungalow townhouse loft houseboat dorm basement room",
    "duplex caravan trailer van village town city suburb suburbs countryside hamlet neighborhood neighbourhood mountains coast",
    "island valley penthouse terrace semi maisonette",
)
WORKPLACES = word_set(
    "hospital university school college bank bakery cafe café restaurant bar pub shop store supermarket library museum gallery",
    "startup start-up company firm agency clinic surgery practice pharmacy factory warehouse farm garage hotel law_firm ministry",
    "council ngo nonprofit non-profit charity lab laboratory institute studio theatre theater zoo airport airline station post_office",
    "newspaper magazine publisher kindergarten nursery daycare gym spa salon bookstore bookshop brewery winery consultancy",
    "government city state county embassy court police fire_department church foundation bookshop hospice dealership plant refinery",
    "port harbour harbor dock army navy military fintech shelter orchestra shipyard call_centre call_center food_bank cinema office department city_council manufacturer developer chain center centre",
)
FIELDS = word_set(
    "insurance finance marketing tech it sales healthcare education hr hospitality construction retail logistics advertising",
    "publishing media journalism manufacturing consulting law banking accounting biotech pharma pharmaceuticals software engineering",
    "research academia agriculture fashion film television tv music gaming cybersecurity security real_estate energy aviation",
    "tourism catering government politics design architecture recruitment recruiting pr public_relations data_science ai robotics",
    "social_work nursing medicine customer_service customer_support procurement product_management operations telecoms",
    "human_resources information_technology film_production renewable_energy supply_chain oil_and_gas fintech e-commerce",
)
APPOINTMENTS = word_set(
    "appointment interview exam test meeting surgery operation checkup check-up flight wedding presentation deadline viva",
    "consultation session scan mri concert date lesson class call party conference conference_call haircut viewing",
    "reunion trip training rehearsal audition hearing match game race workshop webinar graduation ceremony reservation",
    "half-marathon recital marathon tournament move-in dentist physio finals driving_test blood_test ultrasound biopsy vaccination",
)
MEDICINES = word_set(
    "metformin insulin ibuprofen paracetamol aspirin sertraline fluoxetine citalopram escitalopram lexapro prozac zoloft xanax",
    "adderall ritalin concerta levothyroxine omeprazole lisinopril amlodipine atorvastatin statins warfarin antihistamines",
    "antidepressants antibiotics melatonin lithium prednisone ventolin salbutamol albuterol methotrexate humira ozempic losartan",
    "beta-blockers gabapentin tramadol ssris vyvanse wellbutrin birth_control the_pill cetirizine loratadine vitamin_d b12 iron",
)
UNREAL_PLACES = word_set(
    "moon mars moment past future fear hope peace harmony sin denial pain poverty luxury silence limbo bubble dream world hell heaven",
    "present here there same middle edge matrix cloud clouds simulation shadow shadows constant cave castle tower forest",
)
UNSTUDIED = word_set(
    "the_logs logs it this that these those abroad hard more harder menu map problem code question night day"
)
EVERYDAY_PLACES = word_set(
    "bed work school church town store shop shops gym office bathroom toilet kitchen doctor dentist bank market pharmacy library",
    "party meeting class sleep lunch dinner it this that them him her check see get buy pick help find make",
)
AGES = {word: str(value) for word, (_, value, _) in NUMBERS.items() if word not in ("few", "couple", "several", "dozen")} | {
    "twenty-one": "21", "twenty-five": "25", "thirty-five": "35", "forty-five": "45", "seventy": "70", "eighty": "80",
    "ninety": "90",
}  # fmt: skip
"""Ages people write in words."""

TOOLS = word_set(
    "linux windows macos mac ubuntu fedora debian arch nixos android ios iphone pixel chrome firefox brave safari edge opera vivaldi",
    "vim neovim emacs vscode cursor pycharm intellij zed sublime notion obsidian evernote onenote logseq roam todoist trello asana",
    "jira linear slack teams discord signal telegram whatsapp zoom gmail outlook protonmail proton fastmail posteo spotify tidal",
    "deezer netflix hulu disney kindle kobo duckduckgo kagi google bing aws azure gcp heroku vercel postgres postgresql mysql sqlite",
    "mongodb redis python rust go typescript javascript kotlin swift java pytorch tensorflow react vue svelte django flask fastapi",
    "docker podman kubernetes git github gitlab bitbucket figma sketch canva photoshop gimp blender excel libreoffice claude chatgpt",
    "gemini copilot anki duolingo strava garmin fitbit verizon vodafone telekom revolut monzo n26 paypal mastodon bluesky hevy",
)
"""What one moves to without living there."""
