/** Splits what a person types into the arguments and settings of a program. */

/** Words as a shell takes them: quotes keep blanks together, a backslash takes the next as it is. */
export function splitArguments(text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let i = 0; i < text.length; i += 1) {
    const char = text[i] as string;
    if (char === "\\" && quote !== "'" && i + 1 < text.length) {
      i += 1;
      word = (word ?? "") + text[i];
    } else if (quote) {
      if (char === quote) quote = "";
      else word = (word ?? "") + char;
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= "";
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? "") + char;
    }
  }
  if (quote) throw new Error(`a ${quote} is not closed`);
  if (word !== undefined) words.push(word);
  return words;
}

/** Lines of `key: value` or `key=value`; empty ones and comments are left out. */
export function parseSettings(text: string): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const line of text.split("\n")) {
    const trimmed = line.trim();
    if (!trimmed || trimmed.startsWith("#")) continue;
    const match = /^([\w.-]+)\s*[:=]\s*(.*)$/.exec(trimmed);
    if (!match) throw new Error(`"${trimmed}" is not of the form key: value`);
    settings[match[1] as string] = match[2] as string;
  }
  return settings;
}
