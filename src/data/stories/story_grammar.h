// SPDX-License-Identifier: Apache-2.0
// The sentences of the built-in stories. `[a|b]` is a choice, equally likely, and may hold further
// choices; `{slot}` is filled in per story. A is the hero, B the friend: {A} {he} {him} {his}
// {boy}, {B} {b_he} {b_him}; {n} is a number with its noun, {m} a smaller one without; {at} is "in
// the park".
#pragma once

#include <array>
#include <string_view>

namespace tessera {

inline constexpr std::array<std::string_view, 5> kOpenings{
    "Once upon a time there was a [kind|brave|clever|quiet|cheerful|curious] {boy} named {A}. {He} "
    "lived [near|not far from] the {place} with {his} [mother|father|grandmother|grandfather]. "
    "{His} [best|good] friend was {B}. [{sky} |]",
    "One {weather} [morning|day|afternoon], {A} was {at} with {B}. {sky} ",
    "{A} and {B} were [good|best|old] friends. [Every|Each] [day|morning] they [met|played] {at}. "
    "[One day it was {weather}. |]",
    "It was a {weather} [morning|day|evening]. {A} went to the {place} [with|to meet] {B}. ",
    "There was once a [small|kind|clever|shy] {boy} called {A}, who had a friend named {B}. [{sky} "
    "|]",
};

inline constexpr std::array<std::string_view, 12> kPlots{
    // lost and found
    "{A} loved {his} {colour} {thing}, but [that day|now|one day] it was gone. {He} looked "
    "[under the bed|behind the door|in the kitchen|on the stairs], but it was not there. {He} felt "
    "[sad|worried|lost]. \"[Where is my {thing}?|Have you seen my {thing}?]\" {he} asked. "
    "\"[No|Not yet], "
    "but I will help you [look|find it],\" said {B}. They [looked|searched] [for a long "
    "time|everywhere]. "
    "At last {B} found the {thing} [under a tree|behind a big stone|in the tall grass|near an old "
    "wall]. "
    "\"[Thank you|You found it]!\" said {A}. ",
    // a small animal
    "On the [way|path], {A} [saw|found|heard] a [small|little|tiny] {animal}. It was "
    "[cold|hungry|lost|afraid]. \"[Do not be afraid|Do not worry|Come here], little {animal},\" "
    "{he} said "
    "[softly|kindly|gently]. {A} gave it some [bread|water|milk] and [sat|stayed] with it. "
    "[Soon|After a "
    "while] the {animal} was [happy|warm|well] again. {B} [smiled|laughed] and said, \"[It likes "
    "you|Now it "
    "is your friend|You were very kind].\" The {animal} [followed|went home with] {A}. ",
    // learning
    "{A} wanted to learn to [swim|sing|dance|ride a horse|draw a bird|bake bread|play the flute]. "
    "At first it "
    "was [hard|very hard|not easy]. \"I can not do it,\" said {A}. {He} was [sad|tired|ready to "
    "stop]. "
    "\"[Try again|Try once more|Do not give up],\" said {B}. \"[I believe in you|You can do "
    "it|Take your "
    "time].\" So {A} tried again and again. [Day after day {he} got better. |]In the end {he} "
    "could do it, and "
    "{B} [clapped|cheered|danced for joy]. ",
    // building
    "{A} had an idea. \"Let us build a [boat|house|tower|bridge|snowman|kite],\" {he} said. "
    "\"[Yes, let us|What "
    "a good idea|I would love to],\" said {B}. {A} brought [wood|paper|stones|string] and {B} "
    "brought a "
    "{colour} {thing}. They worked [all day|all morning|until noon|side by side]. [First it fell "
    "down, but they "
    "did not stop. |]When it was done, they [looked at it with joy|felt proud|were very happy]. ",
    // a gift
    "It was {B}'s birthday. {A} wanted to give {b_him} [something nice|a gift|a surprise]. {He} "
    "[looked|thought] for a long time. Then {he} [found|made|bought] a {colour} {thing}. \"[Happy "
    "birthday|This "
    "is for you]!\" said {A}. {B} opened the [box|bag|paper] and [smiled|laughed|jumped for joy]. "
    "\"[A {thing}! "
    "|]It is [just what I wanted|so beautiful|the best gift],\" {b_he} said. ",
    // a race
    "\"Let us race to the [big tree|old bridge|gate|well],\" said {B}. They ran as fast as [they "
    "could|the wind]. "
    "{B} was [faster|first|ahead], but then {b_he} fell [down|over a stone|in the mud]. {A} could "
    "have won, but "
    "{he} [stopped|ran back] to help. \"Are you [hurt|all right]?\" asked {A}. \"I am [fine|all "
    "right] now,\" "
    "said {B}. Then they walked to the end [hand in hand|together|side by side]. ",
    // a storm
    "Then [dark clouds came|the sky grew dark|a storm came]. There was [thunder|a loud noise|a "
    "flash of light]. "
    "{A} was [afraid|scared]. \"[Hold my hand|Stay with me|Come quickly],\" said {B}. They ran to "
    "[a little "
    "house|an old barn|a big tree|a small cave] and waited. {B} [sang a song|told a story|made a "
    "joke], and {A} "
    "[felt better|was not afraid any more|began to smile]. When the storm was over, [a rainbow "
    "stood in the "
    "sky|the birds sang again|the sun came out]. ",
    // sharing
    "{A} had a {colour} {thing}. {B} [wanted to play with it too|asked to have it for a while|had "
    "none]. \"It is "
    "mine,\" said {A}. {B} [was sad|walked away|began to cry]. {A} felt [bad|sorry|sad] about it. "
    "{He} [ran "
    "after|went to] {B} and said, \"I am sorry. [We can share|Let us play together|You can have it "
    "today].\" "
    "{B} [smiled|was happy] again, and they played with the {thing} [until it was dark|all "
    "day|together]. ",
    // a garden
    "{A} put a [small|tiny|round] seed into the ground. \"What will it be?\" asked {B}. \"[Wait "
    "and see|We must "
    "wait|I do not know yet],\" said {A}. Every day {he} gave it water. [One week later|After many "
    "days|In the "
    "spring] there was a [green leaf|little plant|green stem]. It grew and grew. At last it was a "
    "[tall "
    "tree|yellow flower|red rose|big pumpkin]. A {animal} came to [see it|sit by it], and "
    "everybody was "
    "[happy|amazed]. ",
    // a secret
    "{B} had a secret. \"[Come with me|Follow me|Come and see],\" {b_he} said. They went [over the "
    "hill|through "
    "the trees|down the path|across the field]. There stood [an old house|a small door|a hollow "
    "tree|a stone "
    "tower]. Inside they found a {colour} {thing} and a [sleeping|singing|friendly] {animal}. "
    "\"[What a "
    "wonder|How lovely|I have never seen this before]!\" said {A}. They [promised to come "
    "back|told nobody|kept "
    "it a secret]. ",
    // a meal
    "At noon they were [hungry|very hungry]. {A} had [bread|cheese|soup|rice] and {B} had "
    "[milk|tea|honey|cake]. "
    "\"Let us [share|eat together],\" said {A}. They sat [under a tree|on a bench|in the grass|by "
    "the water] and "
    "ate. A {animal} came [near|very close] and looked at them. {B} gave it a [little|small] "
    "piece. The {animal} "
    "[ate it|took it] and [ran|went] away [happily|quickly]. ",
    // a journey
    "{A} and {B} wanted to go to the [sea|mountains|city|island]. They [took|packed] a {colour} "
    "{thing} and some "
    "[bread|water|apples]. The way was [long|steep|hard]. {A} was [tired|slow], so {B} [waited "
    "for|helped|sang "
    "for] {him}. \"[We are nearly there|Not far now|Look ahead],\" said {B}. In the evening they "
    "[saw the "
    "lights|came to the gate|stood at the top]. \"[We did it|Here we are|How beautiful]!\" said "
    "{A}. ",
};

// Things are counted and never added up: a small model learns to write before it learns to add.
inline constexpr std::array<std::string_view, 7> kCountings{
    "{A} had {n}. {B} gave {him} {m} more, and they [played with them|put them in a row]. ",
    "{A} had {n} and gave {m} of them to {B}. \"[Thank you|How kind of you],\" said {B}. ",
    "{A} found {n} and {B} found {m}. They [put them all in a bag|showed them to each other]. ",
    "There were {n} on the table. {A} put {m} more beside them and [sang|smiled]. ",
    "There were {n} in the basket. {B} took out {m} and [gave them to|shared them with] {A}. ",
    "\"I have {n},\" said {A}. \"And I have {m},\" said {B}. They [laughed|were glad]. ",
    "{B} saw {n} by the door and {m} by the wall. \"[How pretty|Look at that],\" said {b_he}. ",
};

inline constexpr std::array<std::string_view, 8> kEndings{
    "In the evening {A} went home. {He} was [happy|tired but happy|proud].",
    "From that day on, {A} and {B} were [the best of friends|always together|never alone].",
    "{A} and {B} [laughed|smiled] all the way home.",
    "That night {A} slept well and dreamed of the {place}.",
    "\"[What a good day|This was the best day|Let us come again tomorrow],\" said {A}. {B} "
    "[nodded|agreed|smiled].",
    "{A} learned that [a friend is worth more than gold|it is good to help|it is good to share|we "
    "must never give up].",
    "And {he} told {his} [mother|father|grandmother|grandfather] all about it.",
    "They said good night, and [the stars came out|the moon rose|the lights went out] over the "
    "{place}.",
};

}  // namespace tessera
