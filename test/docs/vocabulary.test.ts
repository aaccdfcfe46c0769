import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';

/** Words of the first design, in any form and as parts of names, with the words of docs/glossary.md. */
const words: [RegExp, string][] = [
  [/epochs?/, 'segment'],
  [/gates?|gated/, 'concurrency key'],
  [/duty|duties/, 'maintenance job'],
  [/nudge[ds]?/, 'recheck'],
  [/wish|wishes/, 'pending change'],
  [/whereabouts?/, 'resolve_tasks()'],
  [/allowances?/, 'queue_limiter_state'],
  [/ride_along/, 'run_late_maintenance()'],
];

/** Names of functions, columns and variables that were replaced too. */
const names = `
  settled_at audited_at audit_stream audit_position audit_runs let_go send_on make_room guard_now guard_fences
  still_inside inside_alone give_up_turns behind_others read_on_from open_standing never_starts
  look_soon look_again look_at_parents set_free cancel_children lock_children lease_children still_wanted
  parents_moved parents_passed lease_parents_moved parents_made_ready on_watched_lease_ended watched_runs
  being_ended left_behind waits_on closing_cycles refuse_waiting_for_itself on_children_due watched_at
  p_watch v_watch v_watches v_watched after_due spawned_so ends_of ends_in_order free_runs may_be_late
  tidy_acts tidy_keys tidy_own tidy_lines act_numbers acts_by_key acts_by_verb acts_by_object
  death_numbers note_deaths deaths_from deaths_due_at tell_deaths doctor_of_deaths
  somebody_leases somebody_works is_let_alone tried_again counted_at count_some leave_round open_counts
  note_depth minutes_to_hours hours_until parents_counted told_of told_at lease_asks stream_asks
  asked_options asked_error p_alone v_alone is_alone hold_runs each_once ids_left led_to led_on leads_on
  ended_so back_at own_leases claim_own candidates_anywhere place_of next_place current_place
  forget_promotions forget_progress keep_progress keep_lease_progress shown_since heavy_tenant
  place_numbers place_of_worker place_of_task check_place line_marks mark_line line_start line_is_known
  line_up in_line_below first_in_line oldest_in_line let_go_from let_go_of move_start one_at_a_time
  given_tasks p_fence p_offered fires_writers fires_late_at failing_fires last_fires take_fire keep_fire
  unended_tasks list_unended judged_queue lets_in keep_to_rate take_request note_key_uses
  http_claimed http_claimed_any own_name archive_stepped note_erasure lets_through want_archive
`
  .trim()
  .split(/\s+/);

/** Places where a word has another meaning. */
const plain = [
  /extract\(epoch|date_part\('epoch'|\bepoch_us\(/g, // time since 1970
  /Очередь[^\n]*/g, // a user's wish, in docs/seeds.md
];

/** Files that are not checked: history, generated lists, and this list itself. */
const left =
  /^(CHANGELOG\.md|scripts\/rename\/.*|bench\/results\/.*|docs\/licences\.md|test\/docs\/vocabulary\.test\.ts)$|package-lock\.json$/;

const files = execFileSync('git', ['ls-files'], { cwd: checkout, encoding: 'utf8' })
  .trim()
  .split('\n')
  .filter((path) => !left.test(path));

const source = words.map(([word]) => word.source).join('|');
// `alone` finds a word on its own or in a name_like_this, `within` finds it in aNameLikeThis.
const alone = new RegExp(`(?<![a-zA-Z])(?:${source})(?![a-z])`, 'gi');
const within = new RegExp(
  `(?<=[a-z])(?:${source.replace(/(?<=^|\|)[a-z]/g, (letter) => letter.toUpperCase())})(?![a-z])`,
  'g',
);
const retired = new RegExp(`(?<![a-zA-Z0-9_])(?:${names.join('|')})(?![a-zA-Z0-9_])`, 'g');

/** The retired words of a text. */
function oldWords(text: string): string[] {
  const rest = plain.reduce((left, known) => left.replace(known, ''), text);
  return [alone, within, retired].flatMap((pattern) => rest.match(pattern) ?? []);
}

test('a retired word is found in text, in snake_case and in camelCase', () => {
  const texts = [
    'Each Epoch ends.',
    'open_gates(',
    'lastEpochEnd',
    'the wishes',
    'p_alone => true',
  ];
  expect(texts.map(oldWords)).toEqual([['Epoch'], ['gates'], ['Epoch'], ['wishes'], ['p_alone']]);
  const others = ['extract(epoch from now())', 'gateway', 'investigates', 'aggregate', 'doEpochal'];
  expect(others.flatMap(oldWords)).toEqual([]);
});

test('no retired word stands in a source, a page or the name of a file', () => {
  const matches = files.flatMap((path) => {
    const bytes = readFileSync(join(checkout, path));
    const text = bytes.includes(0) ? '' : bytes.toString('utf8');
    return [...new Set(oldWords(`${path}\n${text}`))].map((word) => {
      const [, instead] =
        words.find(([old]) => new RegExp(`^(${old.source})$`, 'i').test(word)) ?? [];
      return `${path}: ${word}${instead ? `, write ${instead}` : ''}`;
    });
  });
  expect(matches).toEqual([]);
});
