import { bytesText, numberText, percentText } from '../../core/format.ts';
import type { Use } from './shapes.ts';

/** A value of a budget in its unit: memory, storage and cache count in MB, the CPU in percent of one core. */
export function valueText(budget: Use['budget'], value: number): string {
  if (budget === 'cpu') return percentText(value / 100, value < 10 ? 1 : 0);
  return budget === 'tasks' ? numberText(value, 0) : bytesText(value * 1e6);
}

export function useText(usage: readonly Use[], budget: Use['budget']): string {
  const use = usage.find((one) => one.budget === budget);
  return use ? valueText(budget, use.used) : '–';
}
