/** Answers of the Core to this page. */
import type { Answers } from '../../core/answers.ts';

export type DisplayState = Answers['display.state'];

export type Surface = Surfaces['surfaces'][number];

export type Surfaces = Answers['display.surfaces'];

export type Target = NonNullable<Described['targets']>[number];

export type Described = Answers['display.describe'];

/** CPU milliseconds per frame of a surface. */
export const frameMs = ({ frames, cpuMs }: Pick<Surface, 'frames' | 'cpuMs'>): number | undefined =>
  frames && cpuMs !== undefined ? cpuMs / frames : undefined;
