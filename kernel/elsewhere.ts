/** A definition that stands for a plugin in a worker or process; its lost time is counted as afterOwnTime() does. */
export interface Elsewhere {
  lostMs(): number;
}
