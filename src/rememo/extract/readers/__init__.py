"""Readers of objects: whether a phrase is a place, an employer, a name, a thing one owns, and where it ends.

A reader returns the values that stand at a word, or none; rows name readers in their frames.
"""

from collections.abc import Mapping
from types import MappingProxyType

from rememo.extract.pattern_row import Reader
from rememo.extract.readers import activities, attributes, numbers, people, pets, places, tastes, things, work

READERS: Mapping[str, Reader] = MappingProxyType({
    "attribute": attributes.attribute, "about": attributes.about, "office_holder": attributes.office_holder,
    "place": places.place, "street": places.street, "quarter": places.quarter, "town": places.town, "visited": places.visited,
    "dwelling": places.dwelling, "bought_home": places.bought_home, "firm": work.firm, "my_job": work.my_job,
    "my_office": work.my_office, "me_go": work.me_go, "student_over": work.student_over,
    "sweetheart": people.sweetheart, "newborn_name": people.newborn_name, "children": people.children,
    "renamed_pet": pets.renamed_pet, "renamed_kind": pets.renamed_kind, "runs_on": attributes.runs_on, "on_call": attributes.on_call, "component": attributes.component, "plan": things.plan, "subscription": things.subscription, "known_tool": things.known_tool,
    "handle": things.handle, "again_food": tastes.again_food, "condition_itself": tastes.condition_itself, "measure": numbers.measure, "shoe_size": numbers.shoe_size,
    "employer": work.employer, "company": work.company, "role": work.role, "office": work.office, "field": work.field,
    "school": work.school, "job": work.worked_as, "subject": work.subject, "course": work.course, "degree": work.degree, "taught": work.taught,
    "person": people.person, "relatives": people.relatives, "newborn": people.newborn, "name": people.name,
    "nickname": people.nickname, "introduction": people.introduction, "relation": people.relation, "companion": people.companion,
    "pets": pets.pets, "own_pet": pets.own_pet, "itself": pets.itself, "breed": pets.breed,
    "thing": things.thing, "own_thing": things.own_thing, "vehicle": things.vehicle, "business": things.business,
    "title": things.title, "tool": things.tool, "itself_thing": things.itself_thing, "anything": things.anything,
    "called": things.called, "favourite": tastes.favourite,
    "liked": tastes.liked, "preferred": tastes.preferred, "food": tastes.food, "named_food": tastes.named_food, "diet": tastes.diet,
    "fan": tastes.fan, "plain": tastes.plain, "allergen": tastes.allergen, "illness": tastes.illness, "dose": tastes.dose,
    "activity": activities.activity, "skill": activities.skill, "hobby": activities.hobby, "appointment": activities.appointment,
    "coming": activities.coming, "off": activities.off, "doing": activities.planned, "trip": activities.trip,
    "age": numbers.age, "birthday": numbers.birthday, "birth_year": numbers.birth_year, "email": numbers.email, "phone": numbers.phone,
    "pronouns": numbers.pronouns, "born_on": numbers.born_on,
    "named_school": work.named_school,
    "team": tastes.team, "new_phone": numbers.new_phone, "new_email": numbers.new_email, "off_to": activities.off_to, "moved": activities.moved, "moved_object": activities.moved_object, "verb_itself": activities.verb_itself,
    "left_name": work.left_name, "partner_itself": people.partner_itself, "widowed": people.widowed, "lived_with": people.lived_with, "first_day": work.first_day, "words_left": numbers.words_left, "school_left": work.school_left, "subject_left": work.subject_left,
    "status": people.status, "is_relation": people.is_relation, "lives_with": people.lives_with,
    "intolerance": tastes.intolerance, "fear": tastes.fear, "given_up": tastes.given_up, "avoided": tastes.avoided,
    "my_email": numbers.my_email, "half": people.half,
    "relation_name": people.relation_name,
    "product": things.product, "switched": things.switched, "membership": things.membership, "bought": things.bought,
    "own_make": things.own_make, "hobbies": tastes.hobbies, "off_itself": activities.off_itself, "gone_to": activities.gone_to,
})  # fmt: skip
"""Every reader by the name that frames use."""
