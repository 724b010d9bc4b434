//! `rename_all`: names in another case, as serde's attribute of this name makes them.

/// The case of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

impl Case {
    pub const ALL: [(&'static str, Case); 8] = [
        ("lowercase", Case::Lower),
        ("UPPERCASE", Case::Upper),
        ("PascalCase", Case::Pascal),
        ("camelCase", Case::Camel),
        ("snake_case", Case::Snake),
        ("SCREAMING_SNAKE_CASE", Case::ScreamingSnake),
        ("kebab-case", Case::Kebab),
        ("SCREAMING-KEBAB-CASE", Case::ScreamingKebab),
    ];

    /// A field's name, which Rust writes in snake case.
    pub fn of_field(self, name: &str) -> String {
        match self {
            Case::Lower | Case::Snake => name.to_owned(),
            Case::Upper | Case::ScreamingSnake => name.to_ascii_uppercase(),
            Case::Pascal => name.split('_').map(capitalized).collect(),
            Case::Camel => uncapitalized(&Case::Pascal.of_field(name)),
            Case::Kebab => name.replace('_', "-"),
            Case::ScreamingKebab => Case::Upper.of_field(name).replace('_', "-"),
        }
    }

    /// A variant's name, which Rust writes in Pascal case.
    pub fn of_variant(self, name: &str) -> String {
        match self {
            Case::Lower => name.to_ascii_lowercase(),
            Case::Upper => name.to_ascii_uppercase(),
            Case::Pascal => name.to_owned(),
            Case::Camel => uncapitalized(name),
            Case::Snake => {
                let mut snake = String::new();
                for letter in name.chars() {
                    if letter.is_uppercase() && !snake.is_empty() {
                        snake.push('_');
                    }
                    snake.push(letter.to_ascii_lowercase());
                }
                snake
            }
            Case::ScreamingSnake => Case::Snake.of_variant(name).to_ascii_uppercase(),
            Case::Kebab => Case::Snake.of_variant(name).replace('_', "-"),
            Case::ScreamingKebab => Case::ScreamingSnake.of_variant(name).replace('_', "-"),
        }
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

fn uncapitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
}
