/** A problem in words: by name, and what to do about it. */
import type { Problem } from './facts.ts';
import type { Strings } from './strings/index.ts';

export function problemTitle({ kind, what = '', count = 1 }: Problem, { problem }: Strings): string {
  switch (kind) {
    case 'offline':
      return problem.offline;
    case 'setting':
      return problem.title;
    case 'wifi':
      return problem.wifi(what);
    case 'fellBack':
      return problem.fellBack;
    case 'failed':
    case 'app':
      return count > 1 ? problem.several(count) : problem.failed(what);
  }
}

export function problemSays({ kind, what = '', count = 1 }: Problem, { problem }: Strings): string {
  switch (kind) {
    case 'offline':
      return problem.offlineSays;
    case 'setting':
      return problem.settingSays;
    case 'wifi':
      return problem.wifiSays;
    case 'fellBack':
      return problem.fellBackSays;
    case 'app':
      return problem.appSays;
    case 'failed':
      return count > 1 ? `${what}. ${problem.failedSays}` : problem.failedSays;
  }
}
