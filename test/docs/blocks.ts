/** A code block of a page: its language, its text, and the output that the page shows under it. */
export type Block = { language: string; text: string; line: number; output: string | null };

const fence = /^```(\w*)\n([\s\S]*?)^```$|^<!-- before\n([\s\S]*?)^-->$/gm;

/**
 * The blocks of a page, in order. A block `text` or `json` right under another is its output. SQL in a comment
 * `<!-- before … -->` prepares what the reader has already.
 */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let end = -1;
  for (const found of page.matchAll(fence)) {
    const [whole, language = '', text = '', before] = found;
    const directly = page.slice(end, found.index).trim() === '';
    end = found.index + whole.length;
    const last = blocks.at(-1);
    if (/^(text|json)$/.test(language)) {
      if (last && directly && last.output === null) last.output = text;
      continue;
    }
    const line = page.slice(0, found.index).split('\n').length;
    blocks.push({
      language: before === undefined ? language : 'sql',
      text: before ?? text,
      line,
      output: null,
    });
  }
  return blocks;
}

/** The commands of a transcript, each with the lines that it prints. A backslash continues a command. */
export function commandsOf(transcript: string): { command: string; output: string }[] {
  const commands: { command: string; output: string }[] = [];
  let open = false;
  for (const line of transcript.trimEnd().split('\n')) {
    const last = commands.at(-1);
    if (line.startsWith('$ ')) commands.push({ command: line.slice(2), output: '' });
    else if (last && open) last.command += `\n${line}`;
    else if (last) last.output += `${line}\n`;
    open = line.endsWith('\\') && (open || line.startsWith('$ '));
  }
  return commands;
}

/** A text without what differs from run to run: times, ids, tokens, and the width of columns. */
export const masked = (text: string): string =>
  text
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<uuid>')
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?/g, '<time>')
    .replaceAll(/\btock_[0-9a-f]{8}\b/g, '<key>')
    .replaceAll(/\d{4,}/g, '<n>')
    .replaceAll(/ *# .*$/gm, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([[\]{}:,]) ?/g, '$1')
    .trim();
