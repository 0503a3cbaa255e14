/** What a test knows of one endpoint, and short ways to write it down. */

export interface Endpoint {
  readonly method: string;
  readonly path: string;
  /** What the agenda, which holds `display.notify` and `audio.intent` only, is refused. */
  readonly denied?: true;
  readonly anonymous?: true;
  /** A body that is good but for what a case does to it. */
  readonly body?: object;
  /** Bytes that it takes where that is more than 256 KiB. */
  readonly bodyLimit?: number;
  /** Its body is bytes, not JSON. */
  readonly raw?: true;
  /** Where the path takes DELETE. */
  readonly wrongMethod?: 'POST' | 'GET';
  /** Status for somebody without identity, of an `anonymous` one that wants more than that; 200 else. */
  readonly nobody?: number;
  /** Status and code for a member that it does not know, and for one that is missing or wrong; PARAMS_INVALID else. */
  readonly more?: readonly [status: number, code: string];
  readonly wrong?: string;
  /** Beyond what is common to all: the case, its path or body, and what is answered. */
  readonly cases?: readonly Case[];
}
export type Case = readonly [what: string, input: string | object, status: number, code: string];

export const get = (path: string, cases: readonly Case[] = [], more: object = {}): Endpoint => ({
  method: 'GET',
  path,
  cases,
  ...more,
});
export const post = (path: string, body: object, cases: readonly Case[] = [], more: object = {}): Endpoint => ({
  method: 'POST',
  path,
  body,
  cases,
  ...more,
});
export const admin = { denied: true } as const;
export const remove = (path: string, cases: readonly Case[], more: object): Endpoint => ({
  method: 'DELETE',
  path,
  cases,
  wrongMethod: 'POST',
  ...more,
});
