import type { Logger, Scope } from '@device-core/plugin-api';
import { KeptFile, type KeptForm } from '@device-core/plugin-api/durable';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { freeUid } from '../shared/free-uid.ts';

/** The range of the warden (`uids.plugin` of its configuration). */
const [FIRST, LAST] = [50_000, 59_999];

interface Users {
  readonly uids: Readonly<Record<string, number>>;
  readonly nextUid: number;
}

const FORM: KeptForm<Users> = {
  form: 1,
  initial: { uids: {}, nextUid: FIRST },
  consequence: 'plugins may have other users after the next start of the Core',
  format: ({ uids, nextUid }) => ({ uids, nextUid }),
  parse({ uids, nextUid }) {
    if (typeof uids !== 'object' || uids === null || !isUser(nextUid)) return undefined;
    const given = Object.values(uids);
    const whole = given.every((uid) => isUser(uid)) && new Set(given).size === given.length;
    return whole ? { uids: uids as Users['uids'], nextUid } : undefined;
  },
};

/** The user of each plugin that ran as a unit, for good. */
export class PluginUsers {
  readonly #file: KeptFile<Users>;

  private constructor(file: KeptFile<Users>) {
    this.#file = file;
  }

  static async open(path: string, scope: Scope, log: Logger): Promise<PluginUsers> {
    return new PluginUsers(await KeptFile.open(path, FORM, scope, log));
  }

  /** Durable when it resolves. Throws BUSY when each number of the range is taken. */
  async uidOf(plugin: string): Promise<number> {
    const { uids, nextUid } = this.#file.value;
    const known = Object.hasOwn(uids, plugin) ? uids[plugin] : undefined;
    if (known !== undefined) return known;
    const uid = freeUid(new Set(Object.values(uids)), nextUid, FIRST, LAST);
    await this.#file.set({ uids: { ...uids, [plugin]: uid }, nextUid: Math.min(uid + 1, LAST) });
    return uid;
  }

  tell(report: HealthReport): void {
    this.#file.tell(report, 'supervisor-systemd.users');
  }
}

function isUser(uid: unknown): uid is number {
  return Number.isSafeInteger(uid) && Number(uid) >= FIRST && Number(uid) <= LAST;
}
