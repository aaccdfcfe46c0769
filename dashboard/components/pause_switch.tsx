import { Pause, Play } from 'lucide';
import { setPaused, usePaused } from '../pause.ts';
import { Icon } from './icon.tsx';

/** Pauses the live updates of all pages, so that rows stay where they are while one reads or selects. */
export function PauseSwitch() {
  const paused = usePaused();
  const label = paused ? 'Resume live updates' : 'Pause live updates';
  return (
    <button
      type="button"
      class={paused ? 'pause on' : 'pause quiet'}
      aria-pressed={paused}
      aria-label="Pause live updates"
      title={label}
      onClick={() => setPaused(!paused)}
    >
      <Icon of={paused ? Play : Pause} />
      {paused && ' Paused'}
    </button>
  );
}
