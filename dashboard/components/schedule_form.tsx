import { useEffect, useState } from 'preact/hooks';
import { parseLossless } from '../../client/lossless_json.ts';
import type { Answer } from '../../client/wire.ts';
import { call, Refused } from '../api.ts';
import { cronInWords } from '../cron_words.ts';
import { pretty } from '../format.ts';
import { sentences, useNotify } from '../notifications.tsx';
import { usePolling } from '../polling.ts';
import { useSession } from '../session.tsx';
import { FormDialog, LoadingDialog } from './dialog.tsx';
import { errorOf, Field } from './field.tsx';
import { FireTimes } from './fire_history.tsx';

type Schedule = Answer<'GET /v1/schedules/{schedule}'>;
type Fires = Answer<'GET /v1/next-fires'>['fires'];

const PREVIEW = 10;
/** After the last key the preview waits so long, so that not each key is a request. */
const TYPING_MS = 400;

/** The next fires of an expression, as the server computes them, or why it refuses the expression. */
function NextFires({
  cron,
  zone,
  schedule,
  onUnknownZone,
}: {
  cron: string;
  zone: string;
  /** The form keeps its first and last time. */
  schedule: Schedule | null;
  onUnknownZone(): void;
}) {
  const { key } = useSession();
  const { starts_at: startsAt, ends_at: endsAt } = schedule ?? {};
  const [found, setFound] = useState<{ cron: string; fires: Fires } | null>(null);
  const [refused, setRefused] = useState<Refused | null>(null);
  useEffect(() => {
    // The refusal was of what stood there before.
    setRefused(null);
    const control = new AbortController();
    const isLater = startsAt && Date.parse(startsAt) > Date.now();
    const after = isLater ? new Date(Date.parse(startsAt) - 1).toISOString() : undefined;
    const query = { cron, time_zone: zone || undefined, count: PREVIEW, after };
    const timer = setTimeout(async () => {
      try {
        const answer = await call(key, 'GET /v1/next-fires', { query }, { signal: control.signal });
        const isBeforeEnd = ({ fire_at }: Fires[number]) =>
          !endsAt || Date.parse(fire_at) < Date.parse(endsAt);
        setFound({ cron, fires: answer.fires.filter(isBeforeEnd) });
      } catch (error) {
        if (control.signal.aborted || !(error instanceof Refused)) return;
        setRefused(error);
        setFound(null);
        if (errorOf(error, (field) => field === 'time_zone')) onUnknownZone();
      }
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [cron, zone, key, startsAt, endsAt]);
  if (refused) return <p class="problem">{sentences(refused)}</p>;
  if (!found) return null;
  return (
    <div>
      <p>{cronInWords(found.cron)}</p>
      <p class="hint">The next fires, in the schedule's time zone:</p>
      <FireTimes fires={found.fires} />
    </div>
  );
}

/** What a fire does while the last task has not ended. */
export const overlaps = [
  ['queue', 'add one more'],
  ['skip', 'skip the fire'],
  ['replace', 'cancel the last task'],
] as const;

/** An instant as a control for local time has it: 2026-11-26T18:40:00. */
function localTime(instant: string | null | undefined): string {
  if (!instant) return '';
  const at = new Date(instant);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** The instant of the control. An unchanged one is that of the schedule, with its fraction of a second. */
const runAt = (local: string, schedule: Schedule | null) =>
  Date.parse(local) === Date.parse(localTime(schedule?.run_at))
    ? schedule?.run_at
    : new Date(local).toISOString();

const whenOf = (schedule: Schedule | null) =>
  schedule?.every_seconds ? 'every' : schedule?.run_at ? 'once' : 'cron';

/** The payload of a text. Large numbers keep their digits. */
function payloadOf(text: string): unknown {
  try {
    return parseLossless(text || 'null');
  } catch (error) {
    const detail = `The payload is not JSON: ${(error as Error).message}`;
    throw new Refused(422, { field: 'payload', detail });
  }
}

/** The fields of a refusal that have a place in the form. */
const shownAt = ['schedule', 'queue', 'payload'];

type FormProps = { onClose(): void };

/** The time zone of a new schedule, until the server says that it does not know it. */
const browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';

/** Creates a schedule, or edits the named one. */
export function ScheduleForm({ name, ...props }: { name: string | null } & FormProps) {
  const input = name === null ? null : { path: { schedule: name } };
  const polled = usePolling('GET /v1/schedules/{schedule}', input, 3_600_000);
  if (name === null) return <Form schedule={null} {...props} />;
  return polled.data ? (
    <Form schedule={polled.data} {...props} />
  ) : (
    <LoadingDialog title={`Edit ${name}`} polled={polled} onClose={props.onClose} />
  );
}

/** The form. Settings that it does not show keep their values. */
function Form({ schedule, onClose }: { schedule: Schedule | null } & FormProps) {
  const { key } = useSession();
  const notify = useNotify();
  const [when, setWhen] = useState(whenOf(schedule));
  const [cron, setCron] = useState(schedule?.cron ?? '0 9 * * *');
  const [zone, setZone] = useState(schedule?.time_zone ?? browserZone);
  const [refused, setRefused] = useState<Refused | null>(null);
  const errorFor = (name: string) => errorOf(refused, (field) => field === name);

  const submit = async (data: FormData) => {
    const field = (name: string) => String(data.get(name) ?? '').trim();
    try {
      const name = schedule?.name ?? field('name');
      const payload = payloadOf(field('payload'));
      const body = {
        ...(schedule && {
          options: schedule.options,
          jitter_seconds: schedule.jitter_seconds,
          starts_at: schedule.starts_at,
          ends_at: schedule.ends_at,
          missed: schedule.missed,
          missed_limit: schedule.missed_limit,
          missed_after_seconds: schedule.missed_after_seconds,
          fire_as: schedule.fire_as,
        }),
        queue: field('queue'),
        payload,
        overlap: field('overlap'),
        ...(when !== 'cron' && schedule && { time_zone: schedule.time_zone }),
        ...(when === 'cron' && { cron, time_zone: zone }),
        ...(when === 'every' && { every_seconds: Number(field('every_seconds')) }),
        ...(when === 'once' && { run_at: runAt(field('run_at'), schedule) }),
      };
      await call(key, 'PUT /v1/schedules/{schedule}', { path: { schedule: name }, body });
      notify({ text: `The schedule ${name} is saved.`, isError: false });
      onClose();
    } catch (error) {
      setRefused(error instanceof Refused ? error : new Refused(0, { detail: String(error) }));
    }
  };
  return (
    <FormDialog
      title={schedule ? `Edit ${schedule.name}` : 'New schedule'}
      buttonLabel="Save"
      refused={refused && !shownAt.some(errorFor) ? sentences(refused) : null}
      onSubmit={submit}
      onClose={onClose}
    >
      {!schedule && (
        <Field label="Name" error={errorFor('schedule')}>
          {(attributes) => <input name="name" required {...attributes} />}
        </Field>
      )}
      <Field label="Queue" error={errorFor('queue')}>
        {(attributes) => (
          <input name="queue" required defaultValue={schedule?.queue ?? ''} {...attributes} />
        )}
      </Field>
      <label>
        Fires
        <select
          value={when}
          onChange={({ currentTarget }) => setWhen(currentTarget.value as 'cron')}
        >
          <option value="cron">by a cron expression</option>
          <option value="every">every so many seconds</option>
          <option value="once">once</option>
        </select>
      </label>
      {when === 'cron' && (
        <>
          <label>
            Cron expression
            <input value={cron} onInput={({ currentTarget }) => setCron(currentTarget.value)} />
          </label>
          <label>
            Time zone
            <input value={zone} onInput={({ currentTarget }) => setZone(currentTarget.value)} />
          </label>
          <NextFires
            cron={cron}
            zone={zone}
            schedule={schedule}
            onUnknownZone={() => !schedule && zone === browserZone && setZone('UTC')}
          />
        </>
      )}
      {when === 'every' && (
        <label>
          Seconds
          <input
            name="every_seconds"
            type="number"
            required
            defaultValue={String(schedule?.every_seconds ?? 3600)}
          />
        </label>
      )}
      {when === 'once' && (
        <label>
          At, in this browser's time zone
          <input
            name="run_at"
            type="datetime-local"
            step="1"
            required
            defaultValue={localTime(schedule?.run_at)}
          />
        </label>
      )}
      <label>
        While the last task has not ended
        <select name="overlap">
          {overlaps.map(([value, words]) => (
            <option key={value} value={value} selected={value === schedule?.overlap}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <Field label="Payload, as JSON" error={errorFor('payload')}>
        {(attributes) => (
          <textarea
            name="payload"
            rows={4}
            spellcheck={false}
            defaultValue={pretty(schedule?.payload ?? null)}
            {...attributes}
          />
        )}
      </Field>
    </FormDialog>
  );
}
