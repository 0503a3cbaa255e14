/** Appointments in sentences, for a voice that reads them. */
import type { Appointment } from './agenda.ts';

const MOST = 5;

/** With the day, where it is not today. */
export function sayAppointments(appointments: readonly Appointment[], now: Date): string {
  if (appointments.length === 0) return 'There is nothing on your agenda.';
  return sentences(appointments, (at) => `${dayOf(at, now)}at ${clock(at)}`);
}

export function sayDay(appointments: readonly Appointment[], day: string, now: Date): string {
  if (appointments.length === 0) return `There is nothing on your agenda ${day}.`;
  // What is over today is told as well: it was asked for the day.
  return sentences(appointments, (at) => `${at.getTime() < now.getTime() ? 'since' : 'at'} ${clock(at)}`);
}

function sentences(appointments: readonly Appointment[], when: (at: Date) => string): string {
  const told = appointments.slice(0, MOST).map(({ title, at }) => `${title} ${when(new Date(at))}.`);
  const more = appointments.length - told.length;
  return [...told, ...(more > 0 ? [`And ${more} more.`] : [])].join(' ');
}

function dayOf(at: Date, now: Date): string {
  const days = Math.round((midnight(at) - midnight(now)) / 86_400_000);
  if (days === 0) return '';
  return days === 1
    ? 'tomorrow '
    : `${at.toLocaleDateString('en', { weekday: 'long', month: 'long', day: 'numeric' })} `;
}

function midnight(date: Date): number {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
}

function clock(at: Date): string {
  return at.toLocaleTimeString('en', { hour: 'numeric', minute: '2-digit' });
}
