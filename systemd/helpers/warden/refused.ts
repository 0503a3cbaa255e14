/** What the warden will not do, with the reason: nothing was done. */
export class Refused extends Error {}
