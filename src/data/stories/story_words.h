// SPDX-License-Identifier: Apache-2.0
// The words of the built-in stories. Changing a list changes every story, and the losses of every
// run on them.
#pragma once

#include <array>
#include <string_view>

namespace tessera {

struct StoryPerson {
  std::string_view name;
  bool girl = false;
};

inline constexpr std::array<StoryPerson, 24> kPeople{{
    {"Mia", true},   {"Tom", false},  {"Lily", true},  {"Ben", false},  {"Anna", true},
    {"Sam", false},  {"Zoe", true},   {"Max", false},  {"Emma", true},  {"Leo", false},
    {"Ruth", true},  {"Jack", false}, {"Nora", true},  {"Finn", false}, {"Ella", true},
    {"Omar", false}, {"Rosa", true},  {"Hugo", false}, {"Maya", true},  {"Tim", false},
    {"Clara", true}, {"Noah", false}, {"Ivy", true},   {"Paul", false},
}};

// A place and how one is there: "in the park".
struct StoryPlace {
  std::string_view at;
  std::string_view name;
};

inline constexpr std::array<StoryPlace, 14> kPlaces{{
    {"in", "park"},
    {"in", "garden"},
    {"on", "beach"},
    {"in", "forest"},
    {"at", "market"},
    {"on", "farm"},
    {"by", "river"},
    {"on", "hill"},
    {"by", "lake"},
    {"in", "village"},
    {"in", "meadow"},
    {"at", "harbour"},
    {"in", "valley"},
    {"at", "castle"},
}};

struct StoryWeather {
  std::string_view adjective;
  std::string_view sentence;
};

inline constexpr std::array<StoryWeather, 6> kWeather{{
    {"sunny", "The sun was warm and the sky was blue."},
    {"windy", "The wind blew and the leaves danced."},
    {"rainy", "The rain fell softly on the roofs."},
    {"snowy", "The snow was white and the air was cold."},
    {"cloudy", "Grey clouds hung over the hills."},
    {"misty", "A thin mist lay over the grass."},
}};

// Things that are loved, lost and found.
inline constexpr std::array<std::string_view, 16> kThings{
    "ball", "kite", "book",  "hat", "boat",  "drum",   "puppet", "bell",
    "doll", "cup",  "flute", "map", "wagon", "basket", "box",    "whistle"};

inline constexpr std::array<std::string_view, 10> kColours{
    "red", "blue", "green", "yellow", "little", "round", "shiny", "wooden", "golden", "white"};

// Things that are counted.
struct StoryCount {
  std::string_view one;
  std::string_view many;
};

inline constexpr std::array<StoryCount, 14> kCounts{{
    {"apple", "apples"},
    {"shell", "shells"},
    {"flower", "flowers"},
    {"stone", "stones"},
    {"cookie", "cookies"},
    {"egg", "eggs"},
    {"button", "buttons"},
    {"nut", "nuts"},
    {"pear", "pears"},
    {"feather", "feathers"},
    {"coin", "coins"},
    {"plum", "plums"},
    {"candle", "candles"},
    {"carrot", "carrots"},
}};

inline constexpr std::array<std::string_view, 12> kAnimals{
    "dog", "cat", "bird", "rabbit", "duck", "fox", "mouse", "frog", "lamb", "pony", "hen", "goat"};

}  // namespace tessera
