// SPDX-License-Identifier: Apache-2.0
// What is true in the world of the built-in stories. A fact is a row; its kind says how it is
// asked and told. {subject} and {value} are the row's; `[a|b]` is a choice, as in story_grammar.h.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tessera {

enum class FactKind : uint8_t {
  Says,
  Young,
  Eats,
  Lives,
  Legs,
  Use,
  Place,
  Weather,
  Opposite,
  Day
};

struct FactForm {
  std::string_view question, answer;
};

// By FactKind.
inline constexpr std::array<FactForm, 10> kFactForms{{
    {"[What does a {subject} say?|What sound does a {subject} make?|How does a {subject} "
     "sound?|Tell me what a {subject} says.|Do you know what a {subject} says?]",
     "A {subject} says {value}."},
    {"[What is a young {subject} called?|What do you call a young {subject}?|Tell me what a young "
     "{subject} is.|What is the name for a young {subject}?]",
     "A young {subject} is a {value}."},
    {"[What does a {subject} eat?|What does a {subject} like to eat?|What can I give to a hungry "
     "{subject}?|Tell me what a {subject} eats.|What food does a {subject} like?]",
     "A {subject} eats {value}."},
    {"[Where does a {subject} live?|Where does a {subject} sleep?|Where is the home of a "
     "{subject}?|Tell me where a {subject} lives.|Where can I find a {subject}?]",
     "A {subject} lives in a {value}."},
    {"[How many legs does a {subject} have?|How many legs has a {subject}?|Tell me how many legs "
     "a {subject} has.|On how many legs does a {subject} walk?]",
     "A {subject} has {value} legs."},
    {"[What can I do with a {subject}?|What is a {subject} for?|What do you do with a "
     "{subject}?|Tell me what a {subject} is for.]",
     "You can {value} a {subject}."},
    {"[What is there {subject}?|What can I see {subject}?|What do you find {subject}?|Tell me what "
     "is {subject}.]",
     "You can see {value} {subject}."},
    {"[What do I need on a {subject} day?|What should I take on a {subject} day?|It is a {subject} "
     "day. What do I need?|Tell me what I need on a {subject} day.]",
     "On a {subject} day you need {value}."},
    {"[What is the opposite of {subject}?|Which word is the opposite of {subject}?|Tell me the "
     "opposite of {subject}.|Do you know the opposite of {subject}?]",
     "The opposite of {subject} is {value}."},
    {"[Which day comes after {subject}?|What day comes after {subject}?|Today is {subject}. What "
     "day is tomorrow?|Tell me the day after {subject}.]",
     "{value} comes after {subject}."},
}};

struct StoryFact {
  FactKind kind;
  std::string_view subject, value;
};

inline constexpr std::array<StoryFact, 121> kFacts{{
    {FactKind::Says, "dog", "woof"},
    {FactKind::Says, "cat", "meow"},
    {FactKind::Says, "bird", "tweet"},
    {FactKind::Says, "duck", "quack"},
    {FactKind::Says, "mouse", "squeak"},
    {FactKind::Says, "frog", "croak"},
    {FactKind::Says, "lamb", "baa"},
    {FactKind::Says, "pony", "neigh"},
    {FactKind::Says, "hen", "cluck"},
    {FactKind::Says, "goat", "bleat"},
    {FactKind::Young, "dog", "puppy"},
    {FactKind::Young, "cat", "kitten"},
    {FactKind::Young, "bird", "nestling"},
    {FactKind::Young, "rabbit", "bunny"},
    {FactKind::Young, "duck", "duckling"},
    {FactKind::Young, "fox", "cub"},
    {FactKind::Young, "frog", "tadpole"},
    {FactKind::Young, "pony", "foal"},
    {FactKind::Young, "hen", "chick"},
    {FactKind::Young, "goat", "kid"},
    {FactKind::Eats, "dog", "meat"},
    {FactKind::Eats, "cat", "fish"},
    {FactKind::Eats, "bird", "seeds"},
    {FactKind::Eats, "rabbit", "carrots"},
    {FactKind::Eats, "duck", "snails"},
    {FactKind::Eats, "fox", "mice"},
    {FactKind::Eats, "mouse", "cheese"},
    {FactKind::Eats, "frog", "flies"},
    {FactKind::Eats, "lamb", "grass"},
    {FactKind::Eats, "pony", "hay"},
    {FactKind::Eats, "hen", "corn"},
    {FactKind::Eats, "goat", "leaves"},
    {FactKind::Lives, "dog", "kennel"},
    {FactKind::Lives, "cat", "house"},
    {FactKind::Lives, "bird", "nest"},
    {FactKind::Lives, "rabbit", "burrow"},
    {FactKind::Lives, "duck", "pond"},
    {FactKind::Lives, "fox", "den"},
    {FactKind::Lives, "mouse", "hole"},
    {FactKind::Lives, "frog", "pond"},
    {FactKind::Lives, "lamb", "fold"},
    {FactKind::Lives, "pony", "stable"},
    {FactKind::Lives, "hen", "coop"},
    {FactKind::Lives, "goat", "shed"},
    {FactKind::Legs, "dog", "4"},
    {FactKind::Legs, "cat", "4"},
    {FactKind::Legs, "bird", "2"},
    {FactKind::Legs, "rabbit", "4"},
    {FactKind::Legs, "duck", "2"},
    {FactKind::Legs, "fox", "4"},
    {FactKind::Legs, "mouse", "4"},
    {FactKind::Legs, "frog", "4"},
    {FactKind::Legs, "lamb", "4"},
    {FactKind::Legs, "pony", "4"},
    {FactKind::Legs, "hen", "2"},
    {FactKind::Legs, "goat", "4"},
    {FactKind::Use, "ball", "throw"},
    {FactKind::Use, "kite", "fly"},
    {FactKind::Use, "book", "read"},
    {FactKind::Use, "hat", "wear"},
    {FactKind::Use, "boat", "sail"},
    {FactKind::Use, "drum", "beat"},
    {FactKind::Use, "puppet", "move"},
    {FactKind::Use, "bell", "ring"},
    {FactKind::Use, "doll", "dress"},
    {FactKind::Use, "cup", "drink from"},
    {FactKind::Use, "flute", "play"},
    {FactKind::Use, "map", "find the way with"},
    {FactKind::Use, "wagon", "pull"},
    {FactKind::Use, "basket", "carry"},
    {FactKind::Use, "box", "open"},
    {FactKind::Use, "whistle", "blow"},
    {FactKind::Place, "in the park", "benches"},
    {FactKind::Place, "in the garden", "roses"},
    {FactKind::Place, "on the beach", "sand"},
    {FactKind::Place, "in the forest", "tall trees"},
    {FactKind::Place, "at the market", "baskets of fruit"},
    {FactKind::Place, "on the farm", "hens and goats"},
    {FactKind::Place, "by the river", "a bridge"},
    {FactKind::Place, "on the hill", "an old mill"},
    {FactKind::Place, "by the lake", "reeds"},
    {FactKind::Place, "in the village", "small houses"},
    {FactKind::Place, "in the meadow", "long grass"},
    {FactKind::Place, "at the harbour", "ships"},
    {FactKind::Place, "in the valley", "a stream"},
    {FactKind::Place, "at the castle", "a high tower"},
    {FactKind::Weather, "sunny", "a hat"},
    {FactKind::Weather, "windy", "a scarf"},
    {FactKind::Weather, "rainy", "an umbrella"},
    {FactKind::Weather, "snowy", "warm gloves"},
    {FactKind::Weather, "cloudy", "a coat"},
    {FactKind::Weather, "misty", "a lamp"},
    {FactKind::Opposite, "big", "small"},
    {FactKind::Opposite, "small", "big"},
    {FactKind::Opposite, "hot", "cold"},
    {FactKind::Opposite, "cold", "hot"},
    {FactKind::Opposite, "happy", "sad"},
    {FactKind::Opposite, "sad", "happy"},
    {FactKind::Opposite, "old", "young"},
    {FactKind::Opposite, "young", "old"},
    {FactKind::Opposite, "day", "night"},
    {FactKind::Opposite, "night", "day"},
    {FactKind::Opposite, "up", "down"},
    {FactKind::Opposite, "down", "up"},
    {FactKind::Opposite, "fast", "slow"},
    {FactKind::Opposite, "slow", "fast"},
    {FactKind::Opposite, "loud", "quiet"},
    {FactKind::Opposite, "quiet", "loud"},
    {FactKind::Opposite, "tall", "short"},
    {FactKind::Opposite, "short", "tall"},
    {FactKind::Opposite, "hard", "easy"},
    {FactKind::Opposite, "easy", "hard"},
    {FactKind::Opposite, "open", "shut"},
    {FactKind::Opposite, "shut", "open"},
    {FactKind::Day, "Monday", "Tuesday"},
    {FactKind::Day, "Tuesday", "Wednesday"},
    {FactKind::Day, "Wednesday", "Thursday"},
    {FactKind::Day, "Thursday", "Friday"},
    {FactKind::Day, "Friday", "Saturday"},
    {FactKind::Day, "Saturday", "Sunday"},
    {FactKind::Day, "Sunday", "Monday"},
}};

// What the stories do not tell about.
inline constexpr std::array<std::string_view, 20> kUnknown{
    "the moon", "a computer", "the king of Spain", "an elephant", "a car",    "the weather",
    "a tiger",  "money",      "a robot",           "the news",    "football", "a rocket",
    "Paris",    "a dinosaur", "the ocean",         "a piano",     "physics",  "a doctor",
    "a train",  "my homework"};

}  // namespace tessera
